package ingress

import (
	"crypto/hmac"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast/ingress/intake"
	"holdfast/providers/auth"
)

// A GET is an event if its URL is signed, and only then:
//   - its query is stored as a form, and the event is that of the same form by POST
//   - a second one with the same content is a duplicate
//   - one without a signature, with another query or with a body is none, and neither is one to another provider
func TestEventsByGet(t *testing.T) {
	t.Parallel()
	const public = "https://hooks.example.com"
	d := openDoor(t, "", func(o *Options, _ *intake.Options) { o.PublicURL = public })
	get := func(path, query, signed, body string) reply {
		r := &auth.Request{Method: http.MethodGet, Path: path + "?" + query, Body: []byte(body), Header: map[string][]string{}}
		if signed != "" {
			mac := hmac.New(sha1.New, []byte(secret))
			mac.Write([]byte(public + path + "?" + signed))
			r.Header["x-twilio-signature"] = []string{base64.StdEncoding.EncodeToString(mac.Sum(nil))}
		}
		return d.post(t, r)
	}
	const twilio, query = "/webhooks/twilio", "MessageSid=SM1&MessageStatus=delivered&AccountSid=AC1&To=%2B15005550006&Body=It%27s+here"
	for name, got := range map[string]reply{
		"by a browser":              get(twilio, query, "", ""),
		"by a browser, no query":    get(twilio, "", "", ""),
		"without a query":           get(twilio, "", " ", ""),
		"with a body":               get(twilio, query, query, "x=1"),
		"to a provider without GET": get("/webhooks/stripe", query, query, ""),
	} {
		require.Equal(t, http.StatusMethodNotAllowed, got.status, name)
		require.Equal(t, codeMethodNotAllowed, got.Error.Code, name)
	}
	forged := get(twilio, query+"&x=1", query, "")
	require.Equal(t, http.StatusUnauthorized, forged.status, forged.raw)
	require.Empty(t, d.receipts("twilio"))

	accepted := get(twilio, query, query, "")
	require.Equal(t, http.StatusOK, accepted.status, accepted.raw)
	require.Equal(t, "<Response/>", accepted.raw)
	require.Equal(t, http.StatusOK, get(twilio, query, query, "").status)
	receipts := d.receipts("twilio")
	require.Len(t, receipts, 1)
	require.Equal(t, "sms.delivered", receipts[0].Type)
	require.Equal(t, query, string(d.bodies[receipts[0].WorkflowID()]))
	require.Equal(t, "application/x-www-form-urlencoded", receipts[0].Headers["content-type"])
	p, _ := d.catalogue.Lookup("twilio")
	parsed, err := p.Parse(receipts[0], d.bodies[receipts[0].WorkflowID()])
	require.NoError(t, err)
	require.Equal(t, "sms.delivered", parsed.Type)
	require.NotEmpty(t, parsed.Changes)
}

// A handshake by GET with a scheme of its own comes first, and is in the way of no event.
func TestEventsByGetNextToAHandshake(t *testing.T) {
	t.Parallel()
	const public = "https://hooks.example.com"
	d := openDoor(t, `
name: homemade
secrets: A
auth: [{hmac: {signed: "{url}{body}", signature: {header: x-signature}}}]
challenges: [{method: GET, auth: {token: {secrets: B, in: query, name: verify}}, when: .query.ask != null, reply: .query.ask}]
get: events
decode: [{content_type: application/x-www-form-urlencoded, as: form}, {as: json}]
type: .body.type
key: {parts: [.body.id]}
`, func(o *Options, _ *intake.Options) { o.PublicURL = public })
	get := func(query string, signed bool) reply {
		r := &auth.Request{Method: http.MethodGet, Path: "/webhooks/homemade?" + query, Header: map[string][]string{}}
		if signed {
			mac := hmac.New(sha256.New, []byte(secret))
			mac.Write([]byte(public + r.Path))
			r.Header["x-signature"] = []string{hex.EncodeToString(mac.Sum(nil))}
		}
		return d.post(t, r)
	}
	asked := get("ask=you&verify="+secret, false)
	require.Equal(t, http.StatusOK, asked.status, asked.raw)
	require.Equal(t, "you", asked.raw)
	require.Equal(t, http.StatusUnauthorized, get("ask=you&verify=guessed", false).status)
	require.Empty(t, d.receipts("homemade"))
	accepted := get("id=1&type=a", true)
	require.Equal(t, http.StatusAccepted, accepted.status, accepted.raw)
	require.Len(t, d.receipts("homemade"), 1)
}
