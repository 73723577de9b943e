package auth

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/providers/auth/denial"
	"holdfast/providers/auth/jws"
	"holdfast/providers/definition"
)

// tokenOf signs claims.
func tokenOf(t *testing.T, algorithm, header string, key crypto.Signer, claims map[string]any) string {
	t.Helper()
	payload, err := json.Marshal(claims)
	require.NoError(t, err)
	encode := base64.RawURLEncoding.EncodeToString
	content := encode([]byte(header)) + "." + encode(payload)
	signature, err := jws.Sign(algorithm, key, content)
	require.NoError(t, err)
	return content + "." + encode(signature)
}

func bearer(token string) *Request {
	return &Request{Method: http.MethodPost, Header: map[string][]string{"authorization": {"Bearer " + token}}, Body: []byte(`{"id":"1"}`)}
}

const publishedDefinition = `
name: acme
secrets: ACME_ACCOUNT
auth:
  - jwt:
      algorithm: RS256
      keys: {url: "https://keys.acme.example/jwks"}
      account: email
      audience: ACME_AUDIENCE
      claims: {iss: "https://acme.example", email_verified: "true"}
      leeway: 60s
`

// A token that a sender signs for all its customers is authentic if it is for us, and signed with a key that the sender has published.
func TestPublishedKeys(t *testing.T) {
	t.Parallel()
	var asked []jws.Set
	var found []jws.Key
	var failed error
	secrets := func(name string) []string {
		return map[string][]string{"ACME_ACCOUNT": {"us@acme"}, "ACME_AUDIENCE": {"https://we.example/in"}}[name]
	}
	a := compiled(t, publishedDefinition).WithSecrets(secrets).WithKeySets(func(at jws.Set, id string) ([]jws.Key, error) {
		asked = append(asked, at)
		return found, failed
	})
	published := func(id string, algorithm string) jws.Key {
		return jws.Key{ID: id, Public: trialSigner(algorithm).Public()}
	}
	claims := func(change ...string) map[string]any {
		all := map[string]any{
			"iss": "https://acme.example", "email": "us@acme", "email_verified": true, "aud": "https://we.example/in",
			"exp": clock.Unix() + 60, "iat": clock.Unix(),
		}
		for i := 0; i < len(change); i += 2 {
			if all[change[i]] = change[i+1]; change[i+1] == "" {
				delete(all, change[i])
			}
		}
		return all
	}
	const header = `{"alg":"RS256","kid":"k1"}`
	rs256 := func(claims map[string]any) string { return tokenOf(t, jws.RS256, header, trialRSA(), claims) }
	// An HMAC whose key is the text of the public key.
	der, err := x509.MarshalPKIXPublicKey(trialRSA().Public())
	require.NoError(t, err)
	text := string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}))
	confused := func() string {
		content := strings.Join(strings.Split(tokenOf(t, jws.RS256, `{"alg":"HS256","kid":"k1"}`, trialRSA(), claims()), ".")[:2], ".")
		return content + "." + base64.RawURLEncoding.EncodeToString(jwtSum(content, text))
	}
	for name, c := range map[string]struct {
		token  string
		keys   []jws.Key
		err    error
		reason denial.Reason
		isFree bool // nothing is asked for
	}{
		"good":                         {token: rs256(claims())},
		"its key is one of several":    {token: rs256(claims()), keys: []jws.Key{published("k0", jws.ES256), published("k1", jws.ES256), published("k1", jws.RS256)}},
		"audience in a list":           {token: tokenOf(t, jws.RS256, header, trialRSA(), with(claims(), "aud", []any{"x", "https://we.example/in"}))},
		"without an ID":                {token: tokenOf(t, jws.RS256, `{"alg":"RS256"}`, trialRSA(), claims())},
		"another's account":            {token: rs256(claims("email", "evil@acme")), reason: denial.OtherAccount, isFree: true},
		"no account":                   {token: rs256(claims("email", "")), reason: denial.OtherAccount, isFree: true},
		"another audience":             {token: rs256(claims("aud", "https://other.example")), reason: denial.WrongClaim, isFree: true},
		"no audience":                  {token: rs256(claims("aud", "")), reason: denial.WrongClaim, isFree: true},
		"another issuer":               {token: rs256(claims("iss", "https://evil.example")), reason: denial.WrongClaim, isFree: true},
		"true as text is the same":     {token: rs256(claims("email_verified", "true"))},
		"not verified":                 {token: rs256(claims("email_verified", "false")), reason: denial.WrongClaim, isFree: true},
		"expired":                      {token: tokenOf(t, jws.RS256, header, trialRSA(), with(claims(), "exp", clock.Unix()-61)), reason: denial.Expired, isFree: true},
		"no expiry":                    {token: rs256(claims("exp", "")), reason: denial.Expired, isFree: true},
		"expiry as text":               {token: rs256(claims("exp", "9999999999")), reason: denial.Expired, isFree: true},
		"not yet":                      {token: tokenOf(t, jws.RS256, header, trialRSA(), with(claims(), "nbf", clock.Unix()+61)), reason: denial.TimestampFromFuture, isFree: true},
		"another key":                  {token: rs256(claims()), keys: []jws.Key{{ID: "k1", Public: &otherRSA(t).PublicKey}}, reason: denial.BadToken},
		"key of another ID":            {token: rs256(claims()), keys: []jws.Key{published("k2", jws.RS256)}, reason: denial.BadToken},
		"key of another type":          {token: rs256(claims()), keys: []jws.Key{published("k1", jws.ES256)}, reason: denial.BadToken},
		"key for another algorithm":    {token: rs256(claims()), keys: []jws.Key{{ID: "k1", Algorithm: "PS256", Public: trialRSA().Public()}}, reason: denial.BadToken},
		"no algorithm":                 {token: strings.Replace(rs256(claims()), "eyJhbGciOiJSUzI1NiIs", "eyJhbGciOiJub25lIiwg", 1), reason: denial.MalformedToken, isFree: true},
		"HMAC by the public key":       {token: confused(), reason: denial.MalformedToken, isFree: true},
		"ES256 with a published key":   {token: tokenOf(t, jws.ES256, `{"alg":"ES256","kid":"k1"}`, trialP256(), claims()), keys: []jws.Key{published("k1", jws.ES256)}, reason: denial.MalformedToken, isFree: true},
		"it names an address of keys":  {token: tokenOf(t, jws.RS256, `{"alg":"RS256","kid":"k1","jku":"https://evil.example/jwks"}`, otherRSA(t), claims()), reason: denial.BadToken},
		"it brings its own key":        {token: tokenOf(t, jws.RS256, `{"alg":"RS256","kid":"k1","jwk":{"kty":"RSA"}}`, otherRSA(t), claims()), reason: denial.BadToken},
		"an extension":                 {token: tokenOf(t, jws.RS256, `{"alg":"RS256","kid":"k1","crit":["exp"]}`, trialRSA(), claims()), reason: denial.MalformedToken, isFree: true},
		"a very long ID":               {token: tokenOf(t, jws.RS256, `{"alg":"RS256","kid":"`+strings.Repeat("k", 300)+`"}`, trialRSA(), claims()), reason: denial.MalformedToken, isFree: true},
		"keys can't be fetched":        {token: rs256(claims()), err: denial.Of(denial.NoKeys), reason: denial.NoKeys},
		"keys fail without a reason":   {token: rs256(claims()), err: errors.New("boom"), reason: denial.NoKeys},
		"no such key is published":     {token: rs256(claims()), err: denial.Of(denial.BadToken), reason: denial.BadToken},
		"one of a long list of tokens": {token: rs256(claims()) + strings.Repeat("A", maxToken), reason: denial.MalformedToken, isFree: true},
	} {
		asked, failed = nil, c.err
		if found = c.keys; found == nil && failed == nil {
			found = []jws.Key{published("k1", jws.RS256)}
		}
		err := a.Authenticate(bearer(c.token), clock)
		require.Equal(t, c.isFree, len(asked) == 0, name)
		for _, at := range asked {
			require.Equal(t, jws.Set{URL: "https://keys.acme.example/jwks"}, at, name)
		}
		if c.reason == "" {
			require.NoError(t, err, name)
			continue
		}
		require.Error(t, err, name)
		require.Equal(t, c.reason, denial.ReasonOf(err), name)
		var denied *denial.Error
		require.ErrorAs(t, err, &denied)
		require.Equal(t, c.reason == denial.NoKeys, denied.MayBeAuthentic(), name)
	}
	require.Equal(t, []jws.Set{{URL: "https://keys.acme.example/jwks"}}, a.KeySets())
	require.Equal(t, []string{"ACME_ACCOUNT", "ACME_AUDIENCE"}, a.SecretNames())
	require.Empty(t, a.SecretProblems(), "the name of an account may be short")

	without := a.WithSecrets(func(name string) []string { return map[string][]string{"ACME_ACCOUNT": {"us@acme"}}[name] })
	require.Equal(t, denial.NoSecret, denial.ReasonOf(without.Authenticate(bearer(rs256(claims("aud", ""))), clock)), "no audience is configured")
	require.Empty(t, without.KeySets())
}

// otherRSA is not the key of the sender.
func otherRSA(t *testing.T) *rsa.PrivateKey {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, jws.MinRSABits)
	require.NoError(t, err)
	return key
}

func read(t *testing.T, p *definition.Problems, text string) *definition.Definition {
	t.Helper()
	files, err := definition.Collect(fstest.MapFS{"acme.yaml": {Data: []byte(text)}})
	require.NoError(t, err)
	d, _ := p.Read(files, files["acme"])
	return d
}

func with(claims map[string]any, name string, value any) map[string]any {
	claims[name] = value
	return claims
}

// An API is asked for the key that the token names, with our credentials. The body's hash is in a claim, and the token has a time.
func TestOneKeyOfAnAPI(t *testing.T) {
	t.Parallel()
	a := compiled(t, `
name: acme
secrets: ACME_SECRET
auth:
  - jwt:
      algorithm: ES256
      keys:
        url: "https://{ACME_ENVIRONMENT}.acme.example/key"
        post: {client_id: "{ACME_CLIENT}", secret: "{ACME_SECRET}", key_id: "{kid}", purpose: webhooks}
        answer: key
      header: acme-verification
      body_hash: sum
      max_age: 5m
      leeway: 1m
`)
	var asked []jws.Set
	get := func(at jws.Set, id string) ([]jws.Key, error) {
		asked = append(asked, at)
		return []jws.Key{{ID: id, Public: trialP256().Public()}}, nil
	}
	configured := a.WithKeySets(get).WithSecrets(func(name string) []string {
		return map[string][]string{"ACME_ENVIRONMENT": {"sandbox"}, "ACME_CLIENT": {"c-1"}, "ACME_SECRET": {"the secret of acme"}}[name]
	})
	request := func(header string) *Request {
		r := &Request{Body: []byte(`{ "id": "1" }`)}
		sum := configured.schemes[0].scheme.(*jwtScheme).hash(r.Body)
		r.SetHeader("acme-verification", tokenOf(t, jws.ES256, header, trialP256(), map[string]any{"iat": clock.Unix(), "sum": sum}))
		return r
	}
	r := request(`{"alg":"ES256","kid":"k\"1"}`)
	require.NoError(t, configured.Authenticate(r, clock))
	require.Equal(t, "https://sandbox.acme.example/key", asked[0].URL)
	require.JSONEq(t, `{"client_id":"c-1","secret":"the secret of acme","key_id":"k\"1","purpose":"webhooks"}`, string(asked[0].Body))
	require.Equal(t, "key", asked[0].Answer)

	asked = nil
	rotated := a.WithKeySets(func(at jws.Set, id string) ([]jws.Key, error) {
		if !strings.Contains(string(at.Body), "the new secret of acme") {
			asked = append(asked, at)
			return nil, denial.Of(denial.NoKeys)
		}
		return get(at, id)
	}).WithSecrets(func(name string) []string {
		return map[string][]string{
			"ACME_ENVIRONMENT": {"sandbox"}, "ACME_CLIENT": {"c-1"}, "ACME_SECRET": {"the secret of acme", "the new secret of acme"},
		}[name]
	})
	require.NoError(t, rotated.Authenticate(r, clock), "either secret can be the valid one")
	require.Len(t, asked, 2)
	require.Empty(t, configured.KeySets(), "nothing can be asked for before a token names its key")
	require.Equal(t, denial.Expired, denial.ReasonOf(configured.Authenticate(r, clock.Add(6*time.Minute))))
	require.Equal(t, denial.TimestampFromFuture, denial.ReasonOf(configured.Authenticate(r, clock.Add(-61*time.Second))))
	require.NoError(t, configured.Authenticate(r, clock.Add(-60*time.Second)))
	require.Equal(t, denial.MalformedToken, denial.ReasonOf(configured.Authenticate(request(`{"alg":"ES256"}`), clock)))
	r.Body = []byte(`{"id":"1"}`)
	require.Equal(t, denial.BadSignature, denial.ReasonOf(configured.Authenticate(r, clock)))
	for _, host := range []string{"evil.example/", "a@b", "UPPER", "-a", "a..b", "a b", "[::1]"} {
		one := configured.WithSecrets(func(name string) []string {
			return map[string][]string{"ACME_ENVIRONMENT": {host}, "ACME_CLIENT": {"c-1"}, "ACME_SECRET": {"the secret of acme"}}[name]
		})
		require.Equal(t, denial.UnusableSecret, denial.ReasonOf(one.Authenticate(request(`{"alg":"ES256","kid":"1"}`), clock)), host)
	}
}

// The token may be the body, or a field of it: its payload is then the event.
func TestTokensThatAreTheEvent(t *testing.T) {
	t.Parallel()
	for payload, body := range map[string]func(token string) string{
		".":      func(token string) string { return token + "\n" },
		"signed": func(token string) string { return `{"signed":"` + token + `"}` },
	} {
		a := compiled(t, "name: acme\nsecrets: ACME_DOMAIN\nauth: [{jwt: {algorithm: RS256, payload: '"+payload+"', max_age: forever, "+
			"keys: {url: \"https://{ACME_DOMAIN}/jwks\"}}}]\n").
			WithKeySets(TrialKeySets).WithSecrets(secretsOf("we.acme.example"))
		token := tokenOf(t, jws.RS256, `{"alg":"RS256","kid":"trial"}`, trialRSA(), map[string]any{"id": "1", "pad": strings.Repeat("x", 8000)})
		r := &Request{Body: []byte(body(token))}
		require.NoError(t, a.Authenticate(r, clock), payload)
		require.Equal(t, Coverage{}, r.Covered(), "the body, and nothing else")
		r = &Request{Body: []byte(body(token[:len(token)-4] + "AAAA"))}
		require.Equal(t, denial.BadToken, denial.ReasonOf(a.Authenticate(r, clock)), payload)
		for _, other := range []string{"", "{}", `{"id":"1"}`, "a.b.c"} {
			require.Error(t, a.Authenticate(&Request{Body: []byte(other)}, clock), payload)
		}
	}
	a := compiled(t, "name: acme\nsecrets: A\nauth: [{jwt: {algorithm: RS256, payload: signed, max_age: forever, "+
		"keys: {url: \"https://{A}/jwks\"}}}]\n").WithKeySets(TrialKeySets).WithSecrets(secretsOf("we.acme.example"))
	token := tokenOf(t, jws.RS256, `{"alg":"RS256","kid":"trial"}`, trialRSA(), map[string]any{"id": "1"})
	twice := &Request{Body: []byte(`{"signed":"` + token + `","signed":"x"}`)}
	require.Equal(t, denial.MalformedHeader, denial.ReasonOf(a.Authenticate(twice, clock)))
}

// A public key may be the secret: as PEM, or as its base64. A key of another kind isn't one.
func TestPublicKeysAsSecrets(t *testing.T) {
	t.Parallel()
	own, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	der, err := x509.MarshalPKIXPublicKey(own.Public())
	require.NoError(t, err)
	text := string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}))
	private, err := x509.MarshalPKCS8PrivateKey(own)
	require.NoError(t, err)
	for _, scheme := range []string{
		"jwt: {algorithm: ES256}", `ecdsa: {signed: "{body}", signature: {header: x-s}}`,
	} {
		p := compiled(t, "name: acme\nsecrets: A\nauth: [{"+scheme+"}]\n")
		r := signedRequest(t, p, privatePrefix+base64.StdEncoding.EncodeToString(private))
		for _, secret := range []string{text, strings.ReplaceAll(text, "\n", `\n`), base64.StdEncoding.EncodeToString(der)} {
			require.NoError(t, p.with(secret).Authenticate(r, clock), scheme)
			require.Empty(t, p.with(secret).SecretProblems(), scheme)
		}
		rsaDER, err := x509.MarshalPKIXPublicKey(trialRSA().Public())
		require.NoError(t, err)
		require.Equal(t, denial.UnusableSecret, denial.ReasonOf(p.with(base64.StdEncoding.EncodeToString(rsaDER)).Authenticate(r, clock)))
		other, err := x509.MarshalPKIXPublicKey(trialP256().Public())
		require.NoError(t, err)
		require.Error(t, p.with(base64.StdEncoding.EncodeToString(other)).Authenticate(r, clock), scheme)
	}
}

// The definition says what the keys prove, and never takes their address from a request.
func TestInvalidPublishedKeys(t *testing.T) {
	t.Parallel()
	const keys = `keys: {url: "https://a.example/jwks"}`
	for scheme, problem := range map[string]string{
		`{account: a, ` + keys + `}`:                                                                            "auth[0].jwt.algorithm",
		`{algorithm: HS256, account: a, ` + keys + `}`:                                                          "auth[0].jwt.algorithm",
		`{algorithm: RS256, ` + keys + `}`:                                                                      "auth[0].jwt.account",
		`{algorithm: RS256, account: a}`:                                                                        "auth[0].jwt.account",
		`{algorithm: none, account: a}`:                                                                         `"none" is unknown`,
		`{algorithm: RS256, account: a, keys: {url: "http://a.example/jwks"}}`:                                  "auth[0].jwt.keys.url",
		`{algorithm: RS256, account: a, keys: {url: "https://a.example:8443/jwks"}}`:                            "auth[0].jwt.keys.url",
		`{algorithm: RS256, account: a, keys: {url: "https://u@a.example/jwks"}}`:                               "auth[0].jwt.keys.url",
		`{algorithm: RS256, account: a, keys: {url: "https://a.example/{A_PATH}"}}`:                             "auth[0].jwt.keys.url",
		`{algorithm: RS256, keys: {url: "https://a.example/k", post: {a: b}, answer: key}}`:                     "auth[0].jwt.keys.post",
		`{algorithm: RS256, account: a, keys: {url: "https://a.example/k", unknown: X}}`:                        "auth[0].jwt.keys.unknown",
		`{algorithm: RS256, keys: {url: "https://a.example/k", post: {a: "{kid}"}}}`:                            "auth[0].jwt.keys.post",
		`{algorithm: RS256, keys: {url: "https://a.example/k", post: {a: "{kid}", b: "{lower}"}, answer: key}}`: "auth[0].jwt.keys.post.b",
		`{algorithm: RS256, header: x-a, body: b, account: a, ` + keys + `}`:                                    "want one of header, body and payload",
		`{algorithm: RS256, payload: ., body_hash: b, account: a, ` + keys + `}`:                                "auth[0].jwt.body_hash",
		`{algorithm: RS256, max_age: forever, account: a, ` + keys + `}`:                                        "auth[0].jwt.max_age",
	} {
		var p definition.Problems
		d := read(t, &p, "name: acme\nsecrets: A\nauth: [{jwt: "+scheme+"}]\n")
		New(&p, d.Auth, d.Secrets, nil)
		require.ErrorContains(t, p.Err(), problem, scheme)
	}
}
