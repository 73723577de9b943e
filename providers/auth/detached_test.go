package auth

import (
	"crypto"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast/providers/auth/denial"
	"holdfast/providers/auth/jws"
	"holdfast/providers/definition"
)

const detachedDefinition = `
name: acme
secrets: ACME_PATH
paths: ["/webhooks/acme/{token}"]
auth:
  - jwt:
      header: tl-signature
      algorithm: ES512
      keys: {url: "https://keys.acme.example/jwks"}
      detached: "{method} {path}\n{named:tl_headers}{body}"
      account: token
`

// The signature that TrueLayer publishes with its libraries (test-resources/webhook-signature.txt).
const trueLayerSignature = "eyJhbGciOiJFUzUxMiIsImtpZCI6IjQ1ZmM3NWNmLTU2NDktNDEzNC04NGIzLTE5MmMyYzc4ZTk5MCIsInRsX3ZlcnNpb24iOiIyIiw" +
	"idGxfaGVhZGVycyI6IlgtVGwtV2ViaG9vay1UaW1lc3RhbXAsQ29udGVudC1UeXBlIiwiamt1IjoiaHR0cHM6Ly93ZWJob29rcy50cnVlbGF5ZXIuY29tLy53ZWxsLW" +
	"tub3duL2p3a3MifQ..AB9S1dzZTmw0tofUjJNGO7Kt_jZsahPyIrBTdhfxBWOI3KoLALkMy6ka1MjpZQx06_hQUJnanu9K_LS6V9lNaNGiAX5Cos5RWQfbeBCZWqAvI" +
	"pXO3FvIzyJKRaTYK8FBG4lfJYPi76_pIkCLGKWeq8__7ElpMVRcLTM5IBKWL8isVZn_"

// The key of that signature (test-resources/jwks.json).
const trueLayerKey = `{"kty":"EC","alg":"ES512","kid":"45fc75cf-5649-4134-84b3-192c2c78e990","crv":"P-521",` +
	`"x":"oLuW4nFqoUuR8d7FVsUoI62libYdQlWGtLStnqdudLY92bQ0ra5eZAbkunrGTR9-w9mr4o2Etyb6pC7YB2-23WM",` +
	`"y":"AX1cjkGMiltikPrkX49qwuJDdcETaTsj-kyFP8jsF9W5XAB3Z4tBiQtc72DQnJYeKyAV_T6qZTtFKFr-Tp4iu-j7"}`

// A detached token signs the request: what TrueLayer's library has signed is authentic, with nothing changed, and keys are
// fetched only for senders who know the token in the path.
func TestDetachedTokens(t *testing.T) {
	t.Parallel()
	key, ok := jws.ParseKey([]byte(trueLayerKey))
	require.True(t, ok)
	asked := 0
	a := compiled(t, detachedDefinition).WithSecrets(secretsOf("the-token-of-our-path")).
		WithKeySets(func(at jws.Set, _ string) ([]jws.Key, error) {
			asked++
			require.Equal(t, jws.Set{URL: "https://keys.acme.example/jwks"}, at)
			return []jws.Key{key}, nil
		})
	published := func() *Request {
		return &Request{
			Method: http.MethodPost, Path: "/tl-webhook", URL: "https://hooks.example.com/tl-webhook",
			PathParams: map[string]string{"token": "the-token-of-our-path"},
			Header: map[string][]string{
				"tl-signature": {trueLayerSignature}, "x-tl-webhook-timestamp": {"2021-11-29T11:42:55Z"}, "content-type": {"application/json"},
			},
			Body: []byte(`{"event_type":"example","event_id":"18b2842b-a57b-4887-a0a6-d3c7c36f1020"}`),
		}
	}
	require.NoError(t, a.Authenticate(published(), clock))
	for name, c := range map[string]struct {
		change func(r *Request)
		reason denial.Reason
		isFree bool // no key is asked for
	}{
		"another body":           {change: func(r *Request) { r.Body = append(r.Body, ' ') }, reason: denial.BadToken},
		"another method":         {change: func(r *Request) { r.Method = http.MethodPut }, reason: denial.BadToken},
		"another path":           {change: func(r *Request) { r.URL += "x" }, reason: denial.BadToken},
		"a query":                {change: func(r *Request) { r.URL += "?a=1" }, reason: denial.BadToken},
		"another time":           {change: func(r *Request) { r.SetHeader("x-tl-webhook-timestamp", "2021-11-29T11:42:56Z") }, reason: denial.BadToken},
		"no time":                {change: func(r *Request) { delete(r.Header, "x-tl-webhook-timestamp") }, reason: denial.MissingID, isFree: true},
		"two times":              {change: func(r *Request) { r.Header["content-type"] = []string{"a", "b"} }, reason: denial.AmbiguousHeader, isFree: true},
		"no signature":           {change: func(r *Request) { delete(r.Header, "tl-signature") }, reason: denial.MissingToken, isFree: true},
		"no token in the path":   {change: func(r *Request) { r.PathParams = nil }, reason: denial.MissingToken, isFree: true},
		"another in the path":    {change: func(r *Request) { r.PathParams["token"] = "tl-webhook" }, reason: denial.OtherAccount, isFree: true},
		"a payload in the token": {change: withToken(strings.Replace(trueLayerSignature, "..", ".UE9TVA.", 1)), reason: denial.MalformedToken, isFree: true},
		"many named headers":     {change: withToken(detachedHead(t, strings.Repeat("A,", maxNamed)+"A")), reason: denial.MalformedToken, isFree: true},
		"an unnamed one":         {change: withToken(detachedHead(t, "Content-Type,")), reason: denial.MalformedToken, isFree: true},
		"a line end":             {change: withToken(detachedHead(t, "Content-Type\n")), reason: denial.MalformedToken, isFree: true},
		"a long name":            {change: withToken(detachedHead(t, strings.Repeat("a", 101))), reason: denial.MalformedToken, isFree: true},
		"an extension":           {change: withToken(detachedHead(t, "", "crit", "b64")), reason: denial.MalformedToken, isFree: true},
		"no algorithm":           {change: withToken(detachedHead(t, "", "alg", "none")), reason: denial.MalformedToken, isFree: true},
		"a long one":             {change: withToken(trueLayerSignature + strings.Repeat("A", maxToken)), reason: denial.MalformedToken, isFree: true},
	} {
		asked = 0
		r := published()
		c.change(r)
		err := a.Authenticate(r, clock)
		require.Error(t, err, name)
		require.Equal(t, c.reason, denial.ReasonOf(err), name)
		require.Equal(t, c.isFree, asked == 0, name)
	}
}

func withToken(text string) func(r *Request) {
	return func(r *Request) { r.SetHeader("tl-signature", text) }
}

// detachedHead returns a token that names headers, with more text fields.
func detachedHead(t *testing.T, names string, more ...string) string {
	t.Helper()
	head := map[string]string{"alg": "ES512", "kid": "k", "tl_headers": names}
	for i := 0; i < len(more); i += 2 {
		head[more[i]] = more[i+1]
	}
	text, err := json.Marshal(head)
	require.NoError(t, err)
	return base64.RawURLEncoding.EncodeToString(text) + ".." + base64.RawURLEncoding.EncodeToString(make([]byte, 132))
}

// An HMAC by the text of the published key is no signature, nor is one by a key of another curve that the sender publishes.
func TestDetachedAlgorithmsAreFixed(t *testing.T) {
	t.Parallel()
	a := compiled(t, detachedDefinition).WithSecrets(secretsOf("the-token-of-our-path")).WithKeySets(TrialKeySets)
	signed := func(algorithm string, sign func(content string) []byte) error {
		r := &Request{
			Method: http.MethodPost, URL: "https://hooks.example.com/a", Body: []byte(`{}`), Header: map[string][]string{},
			PathParams: map[string]string{"token": "the-token-of-our-path"},
		}
		head := strings.Split(detachedHead(t, "", "alg", algorithm, "kid", trialKeyID), ".")[0]
		encode := base64.RawURLEncoding.EncodeToString
		content := head + "." + encode([]byte("POST /a\n{}"))
		r.SetHeader("tl-signature", head+".."+encode(sign(content)))
		return a.Authenticate(r, clock)
	}
	by := func(algorithm string, key crypto.Signer) func(string) []byte {
		return func(content string) []byte {
			signature, err := jws.Sign(algorithm, key, content)
			require.NoError(t, err)
			return signature
		}
	}
	require.NoError(t, signed(jws.ES512, by(jws.ES512, trialP521())))
	require.Equal(t, denial.MalformedToken, denial.ReasonOf(signed(jws.ES256, by(jws.ES256, trialP256()))))
	require.Equal(t, denial.BadToken, denial.ReasonOf(signed(jws.ES512, by(jws.ES256, trialP256()))))
	require.Equal(t, denial.MalformedToken, denial.ReasonOf(signed("HS256", func(content string) []byte { return jwtSum(content, trueLayerKey) })))
}

// An extension inherits no paths: without the variable of the account in one of them, every request would be refused.
func TestTheAccountNeedsItsPath(t *testing.T) {
	t.Parallel()
	for paths, isMissing := range map[string]bool{`"/webhooks/acme/{token}"`: false, `"/webhooks/acme/{other}"`: true, ``: true} {
		var p definition.Problems
		d := read(t, &p, strings.Replace(detachedDefinition, `"/webhooks/acme/{token}"`, paths, 1))
		all, _ := NewPaths(&p, d.Name, d.Paths)
		New(&p, d.Auth, d.Secrets, all)
		if isMissing {
			require.ErrorContains(t, p.Err(), "auth[0].jwt.account: want a path with {token}, such as /webhooks/acme/{token}", paths)
			continue
		}
		require.NoError(t, p.Err(), paths)
	}
}

// What can't work is reported when the definition is loaded.
func TestMistakesInTokensOfTheRequestAndInChains(t *testing.T) {
	t.Parallel()
	const keys = "header: x-token, algorithm: ES512, keys: {url: \"https://a.example/jwks\"}, account: token, "
	const chain = "algorithm: ES256, payload: p, max_age: forever, account: a, "
	for scheme, says := range map[string]string{
		"jwt: {" + keys + "detached: \"{method} {path}\"}":                                     "want {body} or {body_sha256}",
		"jwt: {" + keys + "detached: \"{timestamp}{body}\"}":                                   "can't have {timestamp}",
		"jwt: {" + keys + "detached: \"{body}\", claims: {iss: a}}":                            "has no claims",
		"jwt: {" + strings.Replace(keys, "header: x-token, ", "", 1) + "detached: \"{body}\"}": "is for a token in a header",
		"jwt: {" + strings.Replace(keys, "account: token, ", "", 1) + "detached: \"{body}\"}":  "must name a claim",
		"hmac: {signed: \"{named:x}{body}\", signature: {header: x-a}}":                        "it is for jwt.detached",
		"jwt: {" + chain + "chain: {roots: []}}":                                               "anyone can make a chain",
		"jwt: {" + chain + "chain: {roots: [x]}}":                                              "PEM block of a root",
		"jwt: {" + chain + "chain: {roots: [x], leaf: serverAuth}}":                            "want the OID",
		"jwt: {" + strings.Replace(chain, "ES256", "HS256", 1) + "chain: {roots: [x]}}":        "want the algorithm of the signer's certificate",
		"jwt: {" + strings.Replace(chain, "account: a, ", "", 1) + "chain: {roots: [x]}}":      "must name a claim",
		"jwt: {" + chain + "keys: {url: \"https://a.example/jwks\"}, chain: {roots: [x]}}":     "can't be combined",
	} {
		var p definition.Problems
		text := "name: acme\nsecrets: A\nauth: [{" + scheme + "}]\n"
		d := read(t, &p, text)
		New(&p, d.Auth, d.Secrets, nil)
		require.ErrorContains(t, p.Err(), says, scheme)
	}
}
