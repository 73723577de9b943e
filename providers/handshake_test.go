package providers

import (
	"crypto/hmac"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast/providers/auth"
	"holdfast/providers/decode"
	"holdfast/providers/reading"
	"holdfast/providers/receiving"
)

// What each provider sends before any event, and the answer:
//   - Okta and Asana get a header back, Trello an answer, Mailchimp one for its token, Meta its parameter for a token of its
//     own, Braintree a signed text for its public key
//   - Discord, Twitch and Zoom send a request that is signed like any other, and Zoom gets a signed text
//   - a request without the required proof is refused, and a handshake with another method isn't one
func TestHandshakes(t *testing.T) {
	t.Parallel()
	sum := hmac.New(sha256.New, []byte(secretOfTests))
	sum.Write([]byte("qgg8vlvZRS6UYooatFL8Aw"))
	signedBytes := sum.Sum(nil)
	signed := hex.EncodeToString(signedBytes)
	key := sha1.Sum([]byte(secretOfTests))
	sum = hmac.New(sha1.New, key[:])
	sum.Write([]byte("20f9f8ed05f77439fe955c977e4c8a53"))
	braintreeSum := hex.EncodeToString(sum.Sum(nil))
	for name, c := range map[string]struct {
		provider, method, body string
		header                 map[string][]string
		query                  map[string][]string
		path                   map[string]string
		status                 int
		reply                  string
		headers                map[string]string
		isSigned               bool
	}{
		"okta": {provider: "okta", method: "GET", header: map[string][]string{"x-okta-verification-challenge": {"8T3z"}}, status: 200,
			reply: `{"verification":"8T3z"}`},
		"okta by another method": {provider: "okta", method: "HEAD", header: map[string][]string{"x-okta-verification-challenge": {"8T3z"}}},
		"okta with a long one": {provider: "okta", method: "GET",
			header: map[string][]string{"x-okta-verification-challenge": {strings.Repeat("x", 600)}}},
		"okta with what is not visible": {provider: "okta", method: "GET",
			header: map[string][]string{"x-okta-verification-challenge": {"a\nb\x7f"}}, status: 200, reply: `{"verification":"a\nb\u007f"}`},
		"asana": {provider: "asana", method: "POST", header: map[string][]string{"x-hook-secret": {"b537"}}, status: 200,
			headers: map[string]string{"x-hook-secret": "b537"}},
		"asana with a line end":       {provider: "asana", method: "POST", header: map[string][]string{"x-hook-secret": {"b\r\nset-cookie: x"}}},
		"trello":                      {provider: "trello", method: "HEAD", status: 200},
		"trello by GET":               {provider: "trello", method: "GET"},
		"mailchimp":                   {provider: "mailchimp", method: "GET", query: map[string][]string{"key": {secretOfTests}}, status: 200},
		"mailchimp without its token": {provider: "mailchimp", method: "GET", query: map[string][]string{"key": {"a guess of the token"}}, status: -1},
		"meta": {provider: "meta", method: "GET", query: map[string][]string{
			"hub.mode": {"subscribe"}, "hub.challenge": {"1158201444"}, "hub.verify_token": {secretOfTests}}, status: 200, reply: "1158201444"},
		"meta with another token": {provider: "meta", method: "GET", query: map[string][]string{
			"hub.mode": {"subscribe"}, "hub.challenge": {"1158201444"}, "hub.verify_token": {"a guess of the token"}}, status: -1},
		"braintree": {provider: "braintree", method: "GET", path: map[string]string{"public_key": secretOfTests},
			query: map[string][]string{"bt_challenge": {"20f9f8ed05f77439fe955c977e4c8a53"}}, status: 200, reply: secretOfTests + "|" + braintreeSum},
		"braintree with another key": {provider: "braintree", method: "GET", path: map[string]string{"public_key": "a guess of the key"},
			query: map[string][]string{"bt_challenge": {"20f9f8ed05f77439fe955c977e4c8a53"}}, status: -1},
		"braintree with what may be a payload": {provider: "braintree", method: "GET", path: map[string]string{"public_key": secretOfTests},
			query: map[string][]string{"bt_challenge": {"PG5vdGlmaWNhdGlvbj4="}}},
		"x": {provider: "x", method: "GET", path: map[string]string{"token": secretOfTests},
			query: map[string][]string{"crc_token": {"qgg8vlvZRS6UYooatFL8Aw"}}, status: 200,
			reply: `{"response_token":"sha256=` + base64.StdEncoding.EncodeToString(signedBytes) + `"}`},
		"x with another token": {provider: "x", method: "GET", path: map[string]string{"token": "a guess of the token"},
			query: map[string][]string{"crc_token": {"qgg8vlvZRS6UYooatFL8Aw"}}, status: -1},
		"x with what may be an event": {provider: "x", method: "GET", path: map[string]string{"token": secretOfTests},
			query: map[string][]string{"crc_token": {`{"for_user_id":"1"}`}}},
		"x without a text": {provider: "x", method: "GET", path: map[string]string{"token": secretOfTests}},
		"discord":          {provider: "discord", method: "POST", body: `{"version":1,"type":0}`, status: 204, isSigned: true},
		"twitch": {provider: "twitch", method: "POST", body: `{"challenge":"pogchamp","subscription":{"id":"s"}}`, status: 200,
			reply: "pogchamp", isSigned: true},
		"zoom": {provider: "zoom", method: "POST", status: 200, isSigned: true,
			body:  `{"event":"endpoint.url_validation","payload":{"plainToken":"qgg8vlvZRS6UYooatFL8Aw"}}`,
			reply: `{"encryptedToken":"` + signed + `","plainToken":"qgg8vlvZRS6UYooatFL8Aw"}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := providerOf(t, c.provider, secretOfTests)
			r := &auth.Request{Method: c.method, Path: p.Paths()[0], Header: map[string][]string{}, Query: map[string][]string{}, Body: []byte(c.body), PathParams: c.path}
			for k, v := range c.header {
				r.Header[k] = v
			}
			for k, v := range c.query {
				r.Query[k] = v
			}
			var reply receiving.Reply
			var is bool
			var err error
			if c.isSigned {
				require.NoError(t, p.SignWithSecrets(r, clock))
				_, is, _ = p.Handshake(r, clock)
				require.False(t, is, "it is looked at like any other request")
				require.NoError(t, p.Authenticate(r, clock))
				reply, is = p.Challenge(r, clock)
			} else {
				reply, is, err = p.Handshake(r, clock)
			}
			switch c.status {
			case 0:
				require.False(t, is)
				return
			case -1:
				require.True(t, is)
				require.Error(t, err)
				return
			}
			require.NoError(t, err)
			require.True(t, is)
			require.Equal(t, c.status, reply.Status)
			require.Equal(t, c.reply, string(reply.Body))
			require.Equal(t, c.headers, reply.Headers)
			require.NotContains(t, reply.ContentType, "html")
		})
	}
}

// A token that authenticates a handshake in the URL isn't kept with the events.
func TestAHandshakeTokenIsNotStored(t *testing.T) {
	t.Parallel()
	r := &auth.Request{Method: "POST", Header: map[string][]string{"content-type": {"application/x-www-form-urlencoded"}},
		PathParams: map[string]string{"public_key": "integration_public_key"}, Body: []byte(form("bt_payload", "PG5vdGlmaWNhdGlvbj4="))}
	require.Empty(t, itemOf(t, providerOf(t, "braintree", secretOfTests), r).Path)
}

// A handshake that is open to all can neither read a body nor sign.
func TestOpenHandshakesAreBounded(t *testing.T) {
	t.Parallel()
	for challenge, says := range map[string]string{
		`{open: why, when: '.body.x == 1', reply: .body.x}`:                  "can only read headers and query",
		`{method: GET, when: .body.x}`:                                       "can only read headers and query",
		`{open: why, when: "true", hmac: '.query["x"]', reply: .hmac}`:       "anybody could have anything signed",
		`{open: why, when: "true", auth: {token: {secrets: X, in: bearer}}}`: "has neither auth nor hmac",
		`{method: PUT, when: "true"}`:                                        "want one of POST, GET, HEAD",
		`{method: GET, auth: {token: {in: query, name: x}}, when: "true"}`:   "is missing",
	} {
		_, err := Load(writeDefinitions(t, map[string]string{"acme.yaml": minimal + "challenges: [" + challenge + "]\n"}))
		require.ErrorContains(t, err, says, challenge)
	}
}

// The answer to a handshake is a signature of hex text. A request with it is authentic, but not an event: it is refused in
// every form.
func TestAHandshakeMakesNoEvent(t *testing.T) {
	t.Parallel()
	p := providerOf(t, "braintree", secretOfTests)
	const challenge = "20f9f8ed05f77439fe955c977e4c8a53"
	asked := &auth.Request{
		Method: "GET", PathParams: map[string]string{"public_key": secretOfTests}, Query: map[string][]string{"bt_challenge": {challenge}},
	}
	reply, isOne, err := p.Handshake(asked, clock)
	require.NoError(t, err)
	require.True(t, isOne)
	for body, want := range map[string]string{
		"bt_payload=" + challenge:                          "bt_payload is the text of a handshake",
		"bt_payload=%32" + challenge[1:]:                   "bt_payload is the text of a handshake",
		"bt_payload=" + challenge + "&bt_payload=x":        "",
		"bt_payload=x&bt_payload=" + challenge:             "",
		"bt_payload%5B%5D=" + challenge:                    "",
		"bt_payload=" + challenge + "%0A":                  "",
		"bt_payload=" + challenge + "&bt_payload%00=other": "bt_payload is the text of a handshake",
	} {
		r := &auth.Request{
			Method: "POST", Header: map[string][]string{"content-type": {decode.FormType}},
			Body: []byte(body + "&bt_signature=" + url.QueryEscape(string(reply.Body))),
		}
		err := p.Authenticate(r, clock)
		if want == "" {
			require.Error(t, err, body)
			continue
		}
		require.NoError(t, err, body)
		items, err := p.Split(r)
		require.NoError(t, err)
		require.Equal(t, want, reading.RefusedFor(items), body)
	}
}

// CloudEvents asks by OPTIONS whether it may send, and X wants a signature in base64. Neither is an event.
func TestHandshakesOfOtherForms(t *testing.T) {
	t.Parallel()
	catalogue, err := Load(writeDefinitions(t, map[string]string{"acme.yaml": `
name: acme
auth: [{hmac: {secrets: S, encoding: base64, signed: "{body}", signature: {header: x-sig, grammar: prefix, prefix: "sha256="}}}]
paths: ["/webhooks/acme/{token}"]
challenges:
  - method: OPTIONS
    open: Whether it may send is no secret.
    when: .headers["webhook-request-origin"] != null
    headers: {webhook-allowed-origin: '.headers["webhook-request-origin"]', webhook-allowed-rate: '"*"'}
  - method: GET
    auth: {token: {secrets: S, in: path, name: token}}
    when: .query.crc_token | test("^[A-Za-z0-9_-]{1,100}$")
    hmac: .query.crc_token
    hmac_encoding: base64
    reply: '{response_token: "sha256=\(.hmac)"}'
    content_type: application/json
type: .body.type
key: {parts: [.body.id]}
`}))
	require.NoError(t, err)
	catalogue = catalogue.WithSecrets(secretsOf(secretOfTests))
	p, _ := catalogue.Lookup("acme")
	require.True(t, p.Answers("OPTIONS"))
	reply, isOne, err := p.Handshake(&auth.Request{
		Method: "OPTIONS", Header: map[string][]string{"webhook-request-origin": {"eventgrid.azure.net"}},
	}, clock)
	require.NoError(t, err)
	require.True(t, isOne)
	require.Equal(t, 200, reply.Status)
	require.Equal(t, map[string]string{"webhook-allowed-origin": "eventgrid.azure.net", "webhook-allowed-rate": "*"}, reply.Headers)
	_, isOne, _ = p.Handshake(&auth.Request{Method: "OPTIONS"}, clock)
	require.False(t, isOne)

	crc := func(token, text string) (receiving.Reply, bool, error) {
		return p.Handshake(&auth.Request{
			Method: "GET", PathParams: map[string]string{"token": token}, Query: map[string][]string{"crc_token": {text}},
		}, clock)
	}
	reply, isOne, err = crc(secretOfTests, "challenge_1")
	require.NoError(t, err)
	require.True(t, isOne)
	sum := hmac.New(sha256.New, []byte(secretOfTests))
	sum.Write([]byte("challenge_1"))
	require.JSONEq(t, `{"response_token":"sha256=`+base64.StdEncoding.EncodeToString(sum.Sum(nil))+`"}`, string(reply.Body))
	_, isOne, _ = crc(secretOfTests, `{"type":"forged"}`)
	require.False(t, isOne, "nobody can have an event signed")
	_, _, err = crc("a guess of the token", "challenge_1")
	require.Error(t, err)
}
