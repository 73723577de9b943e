package providers

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast/event"
)

// A list in each item of a list makes an event of each inner element, within the envelope of its item, in order.
func TestListsInListsAreEvents(t *testing.T) {
	t.Parallel()
	p := mustLoad(t, strings.Replace(minimal, "key: {parts: [.body.id]}",
		"batch: {items: entry, parts: {lists: [changes], size: 1}}\nkey: {parts: ['.body.id', '.body.changes[0].id']}", 1))
	items, err := p.Split(requestOfTest(
		`{"object":"account","entry":[{"id":"w1","changes":[{"id":1},{"id":2}]},{"id":"w2","changes":[{"id":1}]},{"id":"w3","changes":[]}]}`))
	require.NoError(t, err)
	var bodies []string
	keys := map[string]bool{}
	for _, item := range items {
		bodies = append(bodies, string(item.Body))
		keys[item.Key] = true
		require.JSONEq(t, `{"object":"account","entry":[]}`, string(item.Root))
	}
	require.Equal(t, []string{
		`{"id":"w1","changes":[{"id":1}]}`, `{"id":"w1","changes":[{"id":2}]}`, `{"id":"w2","changes":[{"id":1}]}`, `{"id":"w3","changes":[]}`,
	}, bodies)
	require.Len(t, keys, 4)
}

// The entities of a notification of the App Store come from the tokens in its token.
func TestEntitiesComeFromTokensInTokens(t *testing.T) {
	t.Parallel()
	p := providerOf(t, "app-store", secretOfTests)
	r, err := p.Sample("SUBSCRIBED.INITIAL_BUY", "7", clock)
	require.NoError(t, err)
	item := itemOf(t, p, r)
	require.Equal(t, "app-store:u1-7", item.WorkflowID())
	parsed, err := p.Parse(receiptOfItem(p, item), item.Body)
	require.NoError(t, err)
	require.Equal(t, event.OutcomeProcessed, parsed.Outcome)
	var changed []string
	for _, change := range parsed.Changes {
		changed = append(changed, fmt.Sprintf("%s %s", change.Kind, change.ExternalID))
	}
	require.Equal(t, []string{"transaction 27", "subscription 1-sample"}, changed)
	require.Contains(t, string(parsed.Changes[0].State), `"product":"com.example.pro"`)
}

// Apple says of the token of an external purchase only in its ID that it is of the sandbox, where testers make events.
func TestExternalPurchasesInTheSandboxAreRefused(t *testing.T) {
	t.Parallel()
	p := providerOf(t, "app-store", secretOfTests)
	for id, isRefused := range map[string]bool{"SANDBOX_1": true, "SANDBOX1": true, "b2158121": false} {
		payload := fmt.Sprintf(`{"notificationType":"EXTERNAL_PURCHASE_TOKEN","notificationUUID":"u",
			"externalPurchaseToken":{"externalPurchaseId":%q,"bundleId":"com.example"}}`, id)
		items, err := p.Split(requestOfTest(fmt.Sprintf(`{"signedPayload":"e30.%s.AA"}`, base64.RawURLEncoding.EncodeToString([]byte(payload)))))
		require.NoError(t, err)
		require.Len(t, items, 1)
		require.Equal(t, isRefused, items[0].Refused != "", id)
	}
}

// Apple may sign a notification again when it sends it again: it is the same event, since its UUID is.
func TestANotificationSignedAgainIsTheSameEvent(t *testing.T) {
	t.Parallel()
	p := providerOf(t, "app-store", secretOfTests)
	payload := base64.RawURLEncoding.EncodeToString([]byte(`{"notificationType":"TEST","notificationUUID":"u"}`))
	first := acceptedWith(t, p, `{"signedPayload":"e30.`+payload+`.AAAA"}`)
	again := acceptedWith(t, p, `{"signedPayload":"e30.`+payload+`.AAEB"}`)
	require.Equal(t, first.WorkflowID(), again.WorkflowID())
	require.Equal(t, first.Fingerprint, again.Fingerprint, "otherwise it is a conflict, and a dead letter")
}
