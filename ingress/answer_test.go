package ingress

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/delivery/webhook"
	"holdfast/ingress/intake"
)

const inboundCall = `{"event":"call_inbound","event_timestamp":1700000000000,` +
	`"call_inbound":{"from_number":"+4915112345678","to_number":"+4930123456"}}`

// Retell asks what to do with a call:
//   - the handler's answer is passed back, and the event is processed like any other
//   - a handler that is slow, broken or absent doesn't fail the request: the definition's own answer is sent
func TestAQuestionIsAnswered(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	answers := map[string]http.HandlerFunc{
		"/good": func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			if string(body) == inboundCall && r.Header.Get("Holdfast-Event-Id") != "" {
				_, _ = w.Write([]byte(`{"call_inbound":{"dynamic_variables":{"name":"Ada"}}}`))
			}
		},
		"/late":   func(http.ResponseWriter, *http.Request) { <-release },
		"/broken": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) },
		"/html":   func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>")) },
	}
	mux := http.NewServeMux()
	for path, handler := range answers {
		mux.HandleFunc(path, handler)
	}
	handler := httptest.NewServer(mux)
	t.Cleanup(handler.Close)
	t.Cleanup(func() { close(release) })

	const fallback = `{"call_inbound":{}}`
	for path, want := range map[string]string{
		"/good": `{"call_inbound":{"dynamic_variables":{"name":"Ada"}}}`, "/late": fallback, "/broken": fallback, "/html": fallback,
		"none": fallback,
	} {
		d := openDoor(t, "name: homemade\nextends: retell\nquestions: [{types: [call_inbound], handler: H, deadline: 300ms, "+
			"fallback: '{call_inbound: {}}'}]\n", func(o *Options, _ *intake.Options) {
			o.Questions = webhook.NewClient(webhook.Options{AllowPrivate: true})
			o.HandlerURL = func(string) string {
				if path == "none" {
					return ""
				}
				return handler.URL + path
			}
		})
		start := time.Now()
		got := d.deliver(t, "homemade", "/webhooks/homemade", inboundCall, true)
		require.Equal(t, 200, got.status, path)
		require.JSONEq(t, want, got.raw, path)
		require.Less(t, time.Since(start), 5*time.Second, path)
		require.Len(t, d.receipts("homemade"), 1, path)
	}
}

// A handler on a private address isn't called unless that is allowed, and the definition's own answer is sent.
func TestAHandlerIsGuarded(t *testing.T) {
	t.Parallel()
	asked := false
	handler := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked = true }))
	t.Cleanup(handler.Close)
	d := openDoor(t, "", func(o *Options, _ *intake.Options) {
		o.Questions = webhook.NewClient(webhook.Options{})
		o.HandlerURL = func(string) string { return handler.URL }
	})
	got := d.deliver(t, "retell", "/webhooks/retell", inboundCall, true)
	require.Equal(t, 200, got.status)
	require.JSONEq(t, `{"call_inbound":{}}`, got.raw)
	require.False(t, asked)
}

// An address is verified by GET on a path of its own: the answer is signed, and nothing is stored.
func TestAnAddressIsCheckedByGET(t *testing.T) {
	t.Parallel()
	d := openDoor(t, "")
	get := func(path string) (int, string) {
		answer, err := http.Get(d.url + path)
		require.NoError(t, err)
		defer answer.Body.Close()
		body, err := io.ReadAll(answer.Body)
		require.NoError(t, err)
		return answer.StatusCode, string(body)
	}
	const challenge = "?bt_challenge=20f9f8ed05f77439fe955c977e4c8a53"
	status, body := get("/webhooks/braintree/" + secret + challenge)
	require.Equal(t, 200, status)
	require.Regexp(t, "^"+secret+`\|[0-9a-f]{40}$`, body)
	status, _ = get("/webhooks/braintree/another-public-key" + challenge)
	require.Equal(t, 401, status)
	status, body = get("/webhooks/braintree" + challenge)
	require.Equal(t, 401, status)
	require.NotContains(t, body, "|")
	require.Empty(t, d.receipts("braintree"))
}

// The answer to an event has the body, the content type and the status of the definition: empty for Slack's modals, TwiML for
// Twilio.
func TestAnAcknowledgementHasTheFormOfTheDefinition(t *testing.T) {
	t.Parallel()
	const noContent = "name: homemade\nextends: slack\nreplies: {accepted: 204, duplicate: 204, body: null}\nsamples: {x: {body: '{event_id: .id}'}}\n"
	d := openDoor(t, noContent, func(o *Options, _ *intake.Options) { o.PublicURL = publicURL })
	for provider, want := range map[string]struct {
		status            int
		contentType, body string
	}{"slack": {200, "", ""}, "homemade": {204, "", ""}, "twilio": {200, "text/xml", "<Response/>"}} {
		p, ok := d.catalogue.Lookup(provider)
		require.True(t, ok)
		r, err := p.Sample(p.DefaultSample(), "1", time.Now())
		require.NoError(t, err)
		r.URL = publicURL + r.Path
		require.NoError(t, p.SignWithSecrets(r, time.Now()))
		for _, which := range []string{"new", "duplicate"} {
			got := d.post(t, r)
			require.Equal(t, want.status, got.status, "%s %s %s", provider, which, got.raw)
			require.Equal(t, want.body, got.raw, "%s %s", provider, which)
			require.Equal(t, want.contentType, got.header.Get("Content-Type"), "%s %s", provider, which)
			require.NotEmpty(t, got.header.Get("X-Request-Id"))
		}
		require.Len(t, d.receipts(provider), 1)
	}
}

// Xero asks for an "intent to receive" with requests that have no events: those that it has signed get 200 without a body or
// cookies, the others 401.
func TestXerosIntentToReceive(t *testing.T) {
	t.Parallel()
	d := openDoor(t, "")
	const body = `{"events":[],"lastEventSequence":0,"firstEventSequence":0,"entropy":"S0m3r4Nd0mt3xt"}`
	signed := d.deliver(t, "xero", "/webhooks/xero", body, true)
	require.Equal(t, 200, signed.status)
	require.Empty(t, signed.raw)
	require.Empty(t, signed.header.Values("Set-Cookie"))
	require.Equal(t, 401, d.deliver(t, "xero", "/webhooks/xero", body, false, "x-xero-signature", "HASH_VALUE").status)
	require.Empty(t, d.receipts("xero"))
}
