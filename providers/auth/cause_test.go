package auth

import (
	"encoding/json"
	"errors"
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// refusal is what Authenticate and then Examine say of a request that must not pass.
func refusal(t *testing.T, p *sender, r *Request, now time.Time) *Error {
	t.Helper()
	var refused *Error
	require.ErrorAs(t, p.Authenticate(r, now), &refused)
	examined := p.Examine(r, now, refused)
	require.Error(t, p.Authenticate(r, now), "to look closer lets nobody in")
	return examined
}

// Each kind of scheme tells what is wrong: which part of the request, and nothing that the request holds.
func TestEachKindOfSchemeTellsTheCause(t *testing.T) {
	t.Parallel()
	const (
		stripe   = `hmac: {signed: "{timestamp}.{body}", signature: {header: X-S, grammar: pairs, separator: ",", field: v1}, timestamp: {field: t}}`
		ed       = `ed25519: {key_prefix: whpk_, signed: "{id}.{body}", signature: {header: X-S, grammar: versions, field: v1a}, id: {header: X-I}}`
		header   = `token: {in: header, name: X-Token}`
		query    = `token: {in: query, name: key}`
		path     = `token: {in: path, name: token}`
		body     = `token: {in: body, name: apikey}`
		basic    = `basic: {user: gateway}`
		jwt      = `jwt: {claims: {app: acme}}`
		networks = `address: {networks: NETS}`
	)
	none := func(*Request) {}
	drop := func(name string) func(*Request) { return func(r *Request) { delete(r.Header, name) } }
	put := func(name, value string) func(*Request) { return func(r *Request) { r.SetHeader(name, value) } }
	for name, c := range map[string]struct {
		scheme, secret string
		change         func(*Request)
		reason         Reason
		part           string
	}{
		"hmac: no secret":             {stripe, "", none, ReasonNoSecret, ""},
		"hmac: placeholder":           {stripe, "changeme", none, ReasonPlaceholderSecret, ""},
		"hmac: short secret":          {stripe, "elevenchars", none, ReasonShortSecret, ""},
		"hmac: no header":             {stripe, secretOfTests, drop("x-s"), ReasonMissingSignature, "header x-s"},
		"hmac: two headers":           {stripe, secretOfTests, func(r *Request) { r.Header["x-s"] = []string{"a", "b"} }, ReasonAmbiguousHeader, "header x-s"},
		"hmac: other grammar":         {stripe, secretOfTests, put("x-s", "sha256=abcd"), ReasonMalformedHeader, "header x-s"},
		"hmac: no pairs":              {stripe, secretOfTests, put("x-s", "abcd"), ReasonMalformedHeader, "header x-s"},
		"hmac: no time":               {stripe, secretOfTests, put("x-s", "v1="+strings.Repeat("ab", 32)), ReasonMissingTimestamp, "field t of header x-s"},
		"hmac: unreadable time":       {stripe, secretOfTests, put("x-s", "t=yesterday,v1=ab"), ReasonMalformedTimestamp, "field t of header x-s"},
		"hmac: other encoding":        {stripe, secretOfTests, put("x-s", "t=1777896000,v1=3q2+7w"), ReasonMalformedSignature, "header x-s"},
		"hmac: other secret":          {stripe, otherSecret, none, ReasonBadSignature, "header x-s"},
		"hmac: other body":            {stripe, secretOfTests, func(r *Request) { r.Body = []byte(`{"id":"evt_2"}`) }, ReasonBadSignature, "header x-s"},
		"hmac: body with white space": {stripe, secretOfTests, func(r *Request) { r.Body = append(r.Body, '\n') }, ReasonModifiedBody, "header x-s"},
		"ed25519: secret for HMAC":    {ed, secretOfTests, none, ReasonUnusableSecret, ""},
		"ed25519: no header":          {ed, publicKey, drop("x-s"), ReasonMissingSignature, "header x-s"},
		"ed25519: no id":              {ed, publicKey, drop("x-i"), ReasonMissingID, "header x-i"},
		"ed25519: signature for HMAC": {ed, publicKey, put("x-s", "v1,AAAA"), ReasonMalformedHeader, "header x-s"},
		"ed25519: half a signature":   {ed, publicKey, put("x-s", "v1a,AAAA"), ReasonMalformedSignature, "header x-s"},
		"ed25519: other id":           {ed, publicKey, put("x-i", "msg_2"), ReasonBadSignature, "header x-s"},
		"ed25519: body indented":      {ed, publicKey, func(r *Request) { r.Body = indented(r.Body) }, ReasonModifiedBody, "header x-s"},
		"header token: missing":       {header, secretOfTests, drop("x-token"), ReasonMissingToken, "header x-token"},
		"header token: wrong":         {header, otherSecret, none, ReasonBadToken, "header x-token"},
		"query token: missing":        {query, secretOfTests, func(r *Request) { r.Query = nil }, ReasonMissingToken, "query parameter key"},
		"query token: twice":          {query, secretOfTests, func(r *Request) { r.Query["key"] = []string{"a", "b"} }, ReasonMalformedToken, "query parameter key"},
		"path token: wrong":           {path, otherSecret, none, ReasonBadToken, "path variable token"},
		"body token: no JSON":         {body, secretOfTests, func(r *Request) { r.Body = []byte("<xml>") }, ReasonMalformedToken, "field apikey of the body"},
		"basic: missing":              {basic, secretOfTests, drop("authorization"), ReasonMissingToken, "header authorization"},
		"basic: a bearer token":       {basic, secretOfTests, put("authorization", "Bearer x"), ReasonMalformedToken, "header authorization"},
		"basic: other password":       {basic, otherSecret, none, ReasonBadToken, "header authorization"},
		"jwt: other secret":           {jwt, otherSecret, none, ReasonBadToken, "header authorization"},
		"jwt: no token":               {jwt, secretOfTests, put("authorization", "Bearer x"), ReasonMalformedToken, "header authorization"},
		"address: elsewhere":          {networks, "203.0.113.0/24", none, ReasonAddress, "address of the sender"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := compiled(t, "name: acme\nsecrets: A\nauth:\n  - "+c.scheme+"\ntype: .body.type\nkey: {parts: [.body.id]}\n")
			r := &Request{RemoteIP: netip.MustParseAddr("198.51.100.9")}
			if c.scheme != networks { // nobody signs with an address
				r = signedRequest(t, p, map[bool]string{true: privateKey, false: secretOfTests}[c.scheme == ed])
			}
			c.change(r)
			refused := refusal(t, p.with(c.secret), r, clock)
			require.Equal(t, c.reason, refused.Reason)
			require.Equal(t, c.part, refused.Part)
			require.Contains(t, refused.Scheme, "auth[0]: ")
			require.NotContains(t, refused.Scheme+refused.Detail(), secretOfTests)
			require.NotEmpty(t, c.reason.Cause().Next)
		})
	}
}

// How far away a time is, is told with its sign; who has not signed it is refused for that.
func TestATimeThatIsTooFarAwayIsMeasured(t *testing.T) {
	t.Parallel()
	p := senderOf(t, "stripe", secretOfTests)
	for _, c := range []struct {
		late   time.Duration
		reason Reason
		detail string
	}{
		{time.Hour, ReasonStaleTimestamp, "its time is 1h0m0s behind ours, and 5m0s are allowed"},
		{-2 * time.Hour, ReasonTimestampFromFuture, "its time is 2h0m0s ahead of ours, and 5m0s are allowed"},
	} {
		refused := refusal(t, p, signedRequest(t, p, secretOfTests), clock.Add(c.late))
		require.Equal(t, c.reason, refused.Reason)
		require.Equal(t, c.late, *refused.Skew)
		require.Contains(t, refused.Detail(), c.detail)
		forged := refusal(t, p, signedRequest(t, p, otherSecret), clock.Add(c.late))
		require.Equal(t, ReasonBadSignature, forged.Reason, "what nobody has signed is not called late")
		require.Equal(t, c.late, *forged.Skew)
	}
	expired := compiled(t, "name: acme\nsecrets: A\nauth: [{jwt: {}}]\ntype: .body.type\nkey: {parts: [.body.id]}\n")
	refused := refusal(t, expired, signedRequest(t, expired, secretOfTests), clock.Add(time.Hour))
	require.Equal(t, ReasonExpired, refused.Reason)
	require.Equal(t, time.Hour-jwtLife, *refused.Skew)
}

// What stands between a sender and us writes bodies anew. Where the signature is good for the form that was sent, we know.
func TestABodyThatWasWrittenAnewIsRecognised(t *testing.T) {
	t.Parallel()
	const document = `{"id":"evt_1","type":"ping","name":"Zoë \ud83d\ude00 / \"x\"","n":[1.0,2e5,{}]}`
	sent := map[string]string{
		"compact": document, "spaced": string(spaced([]byte(document))), "indented": string(indented([]byte(document))),
		"in ASCII": string(escapeText([]byte(document))), "without escapes": string(unescapeText([]byte(document))),
		"in lines": "{\"id\":\n\"evt_1\"}\n",
	}
	p := senderOf(t, "stripe", secretOfTests)
	for name, body := range sent {
		for changed, change := range map[string]func(string) string{
			"a line end":     func(s string) string { return s + "\n" },
			"a space":        func(s string) string { return " " + s },
			"trimmed":        strings.TrimSpace,
			"CRLF":           func(s string) string { return strings.ReplaceAll(s, "\n", "\r\n") },
			"a mark":         func(s string) string { return "\xef\xbb\xbf" + s },
			"compacted":      func(s string) string { return string(compact([]byte(s))) },
			"indented again": func(s string) string { return string(indented(compact([]byte(s)))) },
		} {
			if name == "in lines" && (changed == "compacted" || changed == "indented again" || changed == "a space") {
				continue // that form is nobody's
			}
			r := signedRequest(t, p, secretOfTests)
			r.Body = []byte(body)
			require.NoError(t, p.Sign(r, secretOfTests, clock))
			r.Body = []byte(change(body))
			if string(r.Body) == body {
				continue
			}
			refused := refusal(t, p, r, clock)
			require.Equal(t, ReasonModifiedBody, refused.Reason, "%s, %s: %q", name, changed, r.Body)
			require.NotEmpty(t, refused.Fits)
			require.Empty(t, refused.Tried)
			forged := refusal(t, p.with(otherSecret), r, clock)
			require.Equal(t, ReasonBadSignature, forged.Reason, "with another secret nobody knows")
			require.NotEmpty(t, forged.Tried)
			require.Empty(t, forged.Fits)
		}
	}
}

// A digest that the signature covers tells a body that was changed from a wrong secret, whatever was changed.
func TestASignedDigestTellsThatTheBodyWasChanged(t *testing.T) {
	t.Parallel()
	p := senderOf(t, "twilio", secretOfTests)
	r := signedRequest(t, p, secretOfTests)
	r.Body = []byte(`{"anything":"else"}`)
	require.Equal(t, ReasonModifiedBody, refusal(t, p, r, clock).Reason)
	r = signedRequest(t, p, otherSecret)
	r.Body = []byte(`{"anything":"else"}`)
	require.Equal(t, ReasonBadSignature, refusal(t, p, r, clock).Reason)
}

// The URL is signed as the sender called it. Behind a proxy we may take it for another one.
func TestAWrongPublicURLIsRecognised(t *testing.T) {
	t.Parallel()
	p := senderOf(t, "twilio", secretOfTests)
	for taken, fits := range map[string]string{
		"http://hooks.example.com/webhooks/twilio": "the URL with the other of http and https",
		"/webhooks/twilio":                         "the URL as https at the host of the request",
		"http://10.0.0.7:8080/webhooks/twilio":     "the URL as https at the host of the request",
	} {
		r := signedRequest(t, p, secretOfTests)
		_, query, _ := strings.Cut(r.URL, "?")
		r.URL = taken + "?" + query
		r.SetHeader("host", "hooks.example.com")
		refused := refusal(t, p, r, clock)
		require.Equal(t, ReasonOtherURL, refused.Reason, taken)
		require.Equal(t, fits, refused.Fits)
	}
	refused := refusal(t, p, signedRequest(t, p, otherSecret), clock)
	require.Contains(t, refused.Detail(), "HOLDFAST_INGRESS_PUBLIC_URL")
}

// Forms are of a size with the body: hostile nesting is not indented, and no document is needed.
func TestFormsOfAHostileBodyStaySmall(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]string{
		"deep": strings.Repeat("[", 9_000) + strings.Repeat("]", 9_000), "flat": "[" + strings.Repeat("1,", 30_000) + "1]",
		"at the edge": strings.Repeat("[", maxIndent) + strings.Repeat("1,", 30_000) + "1" + strings.Repeat("]", maxIndent),
		"no text":     "\xff\xfe\x00", "cut": `{"a":"\ud83d`, "an escape at the end": `"\`, "nothing": "", "quotes": strings.Repeat(`"`, 9_999),
	} {
		for _, f := range forms {
			r := &Request{Body: []byte(body)}
			f.change(r)
			require.LessOrEqual(t, len(r.Body), 50*len(body)+2, "%s, %s", name, f.name)
		}
	}
}

// JSON that is written in another form is the same document.
func TestFormsOfJSONSayTheSame(t *testing.T) {
	t.Parallel()
	for _, document := range []string{
		`{"a":"\u00e9\n\\\"\/","b":[1,2.0,{"c":null}],"d":"\ud83d\ude00\u0007","e":"\ud83d","f":"a: b, c"}`, `[]`, `"x"`, `{"é":"日本"}`,
	} {
		for _, f := range jsonForms() {
			r := &Request{Body: []byte(document)}
			if f.change(r) {
				require.JSONEq(t, document, string(r.Body), f.name)
			}
		}
		require.True(t, json.Valid(unescapeText([]byte(document))))
	}
}

// Every reason has a rank, a meaning, a next step and a row on the page of refusals.
func TestEveryReasonIsExplained(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/refusals.md")
	require.NoError(t, err)
	require.Len(t, causes, len(Reasons()))
	for _, reason := range Reasons() {
		cause := reason.Cause()
		require.NotEmpty(t, cause.Means, reason)
		require.NotEmpty(t, cause.Next, reason)
		row := "| `" + string(reason) + "` | " + cause.Means + " | " + cause.Next + " |"
		if !strings.Contains(string(page), row) { // the page is too long to be shown
			t.Errorf("docs/refusals.md lacks %s", row)
		}
	}
	require.Empty(t, Reason("invented").Cause())
	require.Equal(t, ReasonNoSecret, ReasonOf(errors.New("another error")))
}
