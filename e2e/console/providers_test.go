package console

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	cdpbrowser "github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"holdfast/operator/access"
)

// post sends an unsigned request.
func (s *stack) post(t *testing.T, path, body string, header http.Header) (status int) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.ingress+path, strings.NewReader(body))
	require.NoError(t, err)
	request.Header = header
	response, err := client.Do(request)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	return response.StatusCode
}

// A new sender: its requests are refused, and the operator sees why and what to do.
func TestARefusedRequestIsSeenWithItsCause(t *testing.T) {
	t.Parallel()
	const secretOfSender = "CANARY-of-a-sender"
	header := http.Header{
		"Webhook-Id": {secretOfSender}, "Webhook-Timestamp": {"1700000000"}, "Webhook-Signature": {"sha256=" + secretOfSender},
		"X-" + secretOfSender: {"x"},
	}
	require.Equal(t, 401, holdfast.post(t, "/webhooks/homemade", `{"id":"`+secretOfSender+`"}`, header))
	for _, b := range []*browser{newBrowser(t), newBrowser(t).withoutScripts()} {
		b.as(access.RoleViewer)
		require.Equal(t, 200, b.open("/console/providers"))
		require.Equal(t, "Providers · Holdfast", b.title())
		require.Contains(t, b.page(), "homemade")
		b.submit(`a[href="/console/providers/homemade"]`)
		require.Equal(t, "homemade · Holdfast", b.title())
		page := b.page()
		for _, shown := range []string{"malformed_header", "compare the sender's documentation", "webhook-signature",
			"1 with unknown names", "HMAC in webhook-signature", "STANDARD_WEBHOOKS_SECRET", "extends"} {
			require.Contains(t, page, shown)
		}
		require.NotContains(t, strings.ToLower(page), strings.ToLower(secretOfSender))
		require.NotContains(t, page, secret)
		require.Zero(t, b.count(`a[href$="/try"]`), "which is not for viewers")
	}
	b := newBrowser(t).as(access.RoleViewer)
	for _, path := range []string{"/console/providers", "/console/providers/homemade", "/console/providers/stripe"} {
		b.open(path)
		b.requireAccessible()
	}
}

// The documentation is accessible, and found from the page of providers.
func TestTheDocumentationIsReadInTheBrowser(t *testing.T) {
	t.Parallel()
	b := newBrowser(t).as(access.RoleViewer)
	b.open("/console/providers")
	require.Equal(t, 200, b.submit(".help a"))
	require.Equal(t, "Set up a provider · Holdfast", b.title())
	b.requireAccessible()
	b.fill("#find-docs", "rotate secret")
	require.Equal(t, 200, b.submit("form:has(#find-docs) button"))
	require.Contains(t, b.page(), "Set up a provider: Rotate a secret")
	b.requireAccessible()
	b.open("/console/docs/console")
	b.requireAccessible()
}

// A provider is connected: its page shows the address, then a refused request with its cause, then the first event, live, which
// leads to the event and the entity that it changes.
func TestAProviderIsConnectedInTheBrowser(t *testing.T) {
	t.Parallel()
	b := newBrowser(t).as(access.RoleViewer)
	b.open("/console/providers")
	b.submit(`main a[href="/console/connect"]`)
	b.fill("main input[name=q]", "github")
	require.Equal(t, 200, b.submit("main form[method=get] button"))
	b.requireAccessible()
	b.submit(`a[href="/console/providers/github/connect"]`)
	require.Contains(t, b.page(), holdfast.ingress+"/webhooks/github")
	require.Contains(t, b.text("#connection"), "Waiting for the first event")
	b.requireAccessible()
	require.Equal(t, 401, holdfast.post(t, "/webhooks/github", "{}", http.Header{}))
	b.await("#connection", "missing_signature 401")
	b.requireAccessible()
	holdfast.run(t, "send", "github", "push")
	b.await("#connection", "push")
	b.requireAccessible()
	b.submit("#connection tr.linked a.whole")
	require.Equal(t, "github push · Holdfast", b.title())
	b.await("#status", "processed")
}

// A sample and a pasted request are tried: the page shows what would happen, without effects.
func TestARequestIsTriedInTheBrowser(t *testing.T) {
	t.Parallel()
	for name, b := range map[string]*browser{"with scripts": newBrowser(t), "without": newBrowser(t).withoutScripts()} {
		b.as(access.RoleOperator)
		b.open("/console/providers/stripe")
		b.submit(`a[href="/console/providers/stripe/try?sample=customer.updated"]`)
		require.Equal(t, "Try stripe · Holdfast", b.title(), name)
		require.Equal(t, 200, b.submit("main form button.primary"), name)
		result := b.text("#result")
		for _, shown := range []string{"signature not checked", "Event 1 of 1", "customer.updated", "a workflow of its own", "3 attempts", "customer"} {
			require.Contains(t, result, shown, name)
		}
		key := uniqueID("tried")
		b.fill("#request", fmt.Sprintf("curl https://example.com/webhooks/homemade -H 'Webhook-Id: %s' -d '{\"id\": 1}'", key))
		require.Equal(t, 200, b.submit("main form button.primary"), name)
		require.Contains(t, b.text("#result"), "is none of stripe", name)

		b.open("/console/providers/homemade/try")
		b.fill("#request", fmt.Sprintf("Webhook-Id: %s\n\n{\"id\": 12345678901234567890.10, \"type\": \"note\"}", key))
		b.submit("main form button.primary")
		require.Contains(t, b.text("#result"), "refused: missing_signature", name)
		require.Contains(t, b.text("#result"), "turn signing on at the sender", name)
		b.click("input[name=sign]")
		b.submit("main form button.primary")
		require.Contains(t, b.text("#result"), "homemade:"+key, name)
		require.Contains(t, b.page(), "12345678901234567890.10", "numbers are exact")
		b.open("/console/events?provider=homemade&key=" + key)
		require.NotContains(t, b.page(), key+"\n", "nothing happened")
	}
}

// A definition is copied from the page of its provider, and as it has been changed from the page that tries it.
func TestADefinitionIsCopied(t *testing.T) {
	t.Parallel()
	b := newBrowser(t).as(access.RoleOperator)
	for _, permission := range []string{"clipboard-read", "clipboard-write"} {
		_, err := chromedp.CallBrowser(b.ctx, cdpbrowser.SetPermission, cdpbrowser.SetPermissionParams{
			Permission: &cdpbrowser.PermissionDescriptor{Name: permission}, Setting: cdpbrowser.PermissionSettingGranted,
			BrowserContextID: chromedp.FromContext(b.ctx).BrowserContextID,
		})
		require.NoError(t, err)
	}
	// The clipboard is for the focused page, and other tests have theirs.
	do(b, call(emulation.SetFocusEmulationEnabled, emulation.SetFocusEmulationEnabledParams{Enabled: true}))
	copied := func(section string) string {
		b.click(section + " button.copy")
		b.await(section+" button.copy", "Copied")
		return do(b, chromedp.Evaluate[string]("navigator.clipboard.readText()", chromedp.EvalAwaitPromise))
	}
	b.open("/console/providers/homemade")
	require.Contains(t, copied("section:has(> #definition)"), "webhook-signature", "all of it, with what it extends")
	b.open("/console/providers/homemade/try")
	b.click("#change summary")
	b.fill("#definition", "name: changed")
	require.Equal(t, "name: changed", copied("#change"))
	b.fill("#definition", "name: changed again")
	b.await("#change button.copy", "Copy")
	require.NotContains(t, b.text("#change button.copy"), "Copied", "the present text hasn't been copied")
	require.Equal(t, "name: changed again", copied("#change"))
	b.open("/console/docs/add-a-provider")
	require.NotEmpty(t, copied(".manual"))
}

func TestTheFormForTryingIsAccessible(t *testing.T) {
	t.Parallel()
	b := newBrowser(t).as(access.RoleOperator)
	b.open("/console/providers/stripe/try?sample=customer.updated")
	b.requireAccessible()
	b.submit("main form button.primary")
	b.requireAccessible()
	b.click("input[name=sign]")
	b.submit("main form button.primary")
	require.Contains(t, b.text("#result"), "refused: missing_signature")
	b.requireAccessible()

	viewer := newBrowser(t).as(access.RoleViewer)
	require.Equal(t, 403, viewer.open("/console/providers/stripe/try"))
}
