package auth

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/providers/auth/denial"
	"holdfast/providers/definition"
)

// Signatures published in the specifications and documentation of the providers.
func TestPublishedSignatures(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		provider, secret, body string
		at                     int64
		headers                map[string]string
	}{
		{
			provider: "standard-webhooks", secret: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", at: 1614265330,
			body: `{"test": 2432232314}`,
			headers: map[string]string{
				"webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek", "webhook-timestamp": "1614265330",
				"webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
			},
		},
		{
			provider: "github", secret: "It's a Secret to Everybody", body: "Hello, World!",
			headers: map[string]string{
				"x-hub-signature-256": "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17",
			},
		},
		{
			provider: "retell", secret: "test-api-key", body: `{"event":"call_ended"}`, at: 1700000000,
			headers: map[string]string{
				"x-retell-signature": "v=1700000000000,d=07024cabe7dd8f6d1c6e4a8324ca92c812e6ad4a7ee506c04f7e462e3321823e",
			},
		},
		{
			provider: "stripe", secret: "whsec_test_secret", at: 1700000000,
			body: "{\n  \"id\": \"evt_test_webhook\",\n  \"object\": \"event\",\n  \"api_version\": \"2026-07-29.dahlia\"\n}",
			headers: map[string]string{
				"stripe-signature": "t=1700000000,v1=dfafcc64826617ddb667e1b6e8f9239e93b2fee069534383fcace1452612b400",
			},
		},
	} {
		p := senderOf(t, c.provider, c.secret)
		p.placeholders = true
		r := &Request{Body: []byte(c.body), Header: map[string][]string{}}
		for name, value := range c.headers {
			r.Header[name] = []string{value}
		}
		require.NoError(t, p.Authenticate(r, time.Unix(c.at, 0)), c.provider)
		r.Body = append(r.Body, ' ')
		require.Error(t, p.Authenticate(r, time.Unix(c.at, 0)), c.provider)
	}
}

// Each scheme alone: a request that Sign has signed is accepted; with another secret, or changed, it isn't.
func TestSchemes(t *testing.T) {
	t.Parallel()
	for name, scheme := range map[string]string{
		"plain hex":                `hmac: {signed: "{body}", signature: {header: x-s}}`,
		"plain base64":             `hmac: {signed: "{body}", encoding: base64, signature: {header: x-s}}`,
		"prefix":                   `hmac: {signed: "{body}", signature: {header: x-s, grammar: prefix, prefix: "v0="}}`,
		"pairs":                    `hmac: {signed: "{body}", signature: {header: x-s, grammar: pairs, separator: ";", field: h}}`,
		"with time":                `hmac: {signed: "{timestamp}:{body}", signature: {header: x-s}, timestamp: {header: x-t, unit: ms}}`,
		"with time without a zone": `hmac: {signed: "{timestamp}:{body}", signature: {header: x-s}, timestamp: {header: x-t, unit: rfc3339_utc}}`,
		"with HTTP date":           `hmac: {signed: "{timestamp}:{body}", signature: {header: x-s}, timestamp: {header: x-t, unit: http_date}}`,
		"with id":                  `hmac: {signed: "{id}.{body}", signature: {header: x-s}, id: {header: x-i}}`,
		"with url":                 `hmac: {algorithm: sha1, signed: "{url}{body}", signature: {header: x-s}}`,
		"base64 key":               `hmac: {key: base64, key_prefix: whsec_, signed: "{body}", signature: {header: x-s}}`,
		"header token":             `token: {in: header, name: X-Token}`,
		"bearer token":             `token: {in: bearer}`,
		"query token":              `token: {in: query, name: key}`,
		"path token":               `token: {in: path, name: token}`,
		"basic":                    `basic: {user: gateway}`,
		"jwt with claims":          `jwt: {claims: {app: acme}}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			definition := "name: acme\nsecrets: ACME_SECRET\nauth:\n  - " + scheme + "\ntype: .body.type\nkey: {parts: [.body.id]}\n"
			p := compiled(t, definition)
			r := signedRequest(t, p, secretOfTests)
			require.NoError(t, p.Authenticate(r, clock))
			require.Error(t, p.Authenticate(signedRequest(t, p, otherSecret), clock))
			require.Error(t, p.Authenticate(&Request{Body: r.Body}, clock))
			for name := range r.Header {
				if name == "content-type" {
					continue
				}
				bare := &Request{Body: r.Body, URL: r.URL, Header: map[string][]string{}}
				require.Error(t, p.Authenticate(bare, clock))
				doubled := signedRequest(t, p, secretOfTests)
				doubled.Header[name] = append(doubled.Header[name], doubled.Header[name][0])
				require.Equal(t, denial.AmbiguousHeader, denial.ReasonOf(p.Authenticate(doubled, clock)))
			}
			if strings.Contains(scheme, "hmac") {
				r.Body = append(r.Body, 'x')
				require.Equal(t, denial.BadSignature, denial.ReasonOf(p.Authenticate(r, clock)))
			}
		})
	}
}

func TestEd25519(t *testing.T) {
	t.Parallel()
	const private, public = privateKey, publicKey
	p := senderOf(t, "standard-webhooks", public)
	r := signedRequest(t, p, private)
	require.Contains(t, r.Header["webhook-signature"][0], "v1a,")
	require.NoError(t, p.Authenticate(r, clock))
	require.Equal(t, denial.StaleTimestamp, denial.ReasonOf(p.Authenticate(r, clock.Add(time.Hour))))
	r.Body[0] = ' '
	require.Equal(t, denial.BadSignature, denial.ReasonOf(p.Authenticate(r, clock)))
	hmacOnly := senderOf(t, "standard-webhooks", secretOfTests)
	require.Error(t, hmacOnly.Authenticate(signedRequest(t, p, private), clock))
	require.Error(t, p.Authenticate(signedRequest(t, hmacOnly, secretOfTests), clock))
}

func TestJWT(t *testing.T) {
	t.Parallel()
	p := compiled(t, "name: acme\nsecrets: A\nauth: [{jwt: {claims: {app: acme}}}]\ntype: .body.type\nkey: {parts: [.body.id]}\n")
	token := func(header, payload, secret string) *Request {
		encode := base64.RawURLEncoding.EncodeToString
		content := encode([]byte(header)) + "." + encode([]byte(payload))
		return &Request{Header: map[string][]string{"authorization": {"Bearer " + content + "." + encode(jwtSum(content, secret))}}}
	}
	const head = `{"alg":"HS256"}`
	for name, c := range map[string]struct {
		r      *Request
		reason denial.Reason
	}{
		"expired":       {token(head, `{"exp":1777895999,"app":"acme"}`, secretOfTests), denial.Expired},
		"no expiry":     {token(head, `{"app":"acme"}`, secretOfTests), denial.Expired},
		"not yet":       {token(head, `{"exp":1777896600,"nbf":1777896100,"app":"acme"}`, secretOfTests), denial.TimestampFromFuture},
		"other claim":   {token(head, `{"exp":1777896600,"app":"x"}`, secretOfTests), denial.WrongClaim},
		"other secret":  {token(head, `{"exp":1777896600,"app":"acme"}`, otherSecret), denial.BadToken},
		"alg none":      {token(`{"alg":"none"}`, `{"exp":1777896600,"app":"acme"}`, secretOfTests), denial.MalformedToken},
		"alg HS512":     {token(`{"alg":"HS512"}`, `{"exp":1777896600,"app":"acme"}`, secretOfTests), denial.MalformedToken},
		"two parts":     {&Request{Header: map[string][]string{"authorization": {"Bearer a.b"}}}, denial.MalformedToken},
		"other scheme":  {&Request{Header: map[string][]string{"authorization": {"Basic abc"}}}, denial.MalformedToken},
		"no header":     {&Request{}, denial.MissingToken},
		"good":          {token(head, `{"exp":1777896600,"app":"acme"}`, secretOfTests), ""},
		"empty payload": {token(head, ``, secretOfTests), denial.MalformedToken},
	} {
		err := p.Authenticate(c.r, clock)
		if c.reason == "" {
			require.NoError(t, err, name)
			continue
		}
		require.Error(t, err, name)
		require.Equal(t, c.reason, denial.ReasonOf(err), name)
	}
}

// A claim has the hash of the body in the definition's encoding, and in no other.
func TestHashEncodings(t *testing.T) {
	t.Parallel()
	body := []byte(`{"id":"evt_2"}`) // its hash has a + and a / in base64
	sum := sha256.Sum256(body)
	forms := map[string]string{
		"hex": hex.EncodeToString(sum[:]), "base64": base64.StdEncoding.EncodeToString(sum[:]),
		"base64url": base64.URLEncoding.EncodeToString(sum[:]),
	}
	require.Contains(t, forms["base64"], "+")
	for encoding, text := range forms {
		p := compiled(t, "name: acme\nsecrets: A\nauth: [{jwt: {header: x-jwt, body_hash: sum, hash_encoding: "+encoding+"}}]\n"+
			"type: .body.type\nkey: {parts: [.body.id]}\n")
		check := func(claim any) error {
			claims, err := json.Marshal(map[string]any{"exp": clock.Unix() + 60, "sum": claim})
			require.NoError(t, err)
			content := "eyJhbGciOiJIUzI1NiJ9." + base64.RawURLEncoding.EncodeToString(claims)
			token := content + "." + base64.RawURLEncoding.EncodeToString(jwtSum(content, secretOfTests))
			return p.Authenticate(&Request{Header: map[string][]string{"x-jwt": {token}}, Body: body}, clock)
		}
		require.NoError(t, check(text), encoding)
		require.Equal(t, encoding == "hex", check(strings.TrimRight(text, "=")+"=") != nil, "padding")
		for other, foreign := range forms {
			require.Equal(t, other == encoding, check(foreign) == nil, "%s as %s", other, encoding)
		}
		for _, claim := range []any{nil, "", "=", 5, []string{text}, text + "A", text[1:]} {
			require.Equal(t, denial.BadSignature, denial.ReasonOf(check(claim)), "%s: %v", encoding, claim)
		}
	}
}

// A time without a zone is UTC. Other forms than the definition's are refused.
func TestTimesInWords(t *testing.T) {
	t.Parallel()
	for unit, c := range map[string]struct{ good, bad []string }{
		"rfc3339_utc": {
			[]string{"2026-05-04T12:00:00", "2026-05-04T12:00:00.123456", "2026-05-04T12:00:00Z", "2026-05-04T14:00:00+02:00"},
			[]string{"2026-05-04", "2026-05-04 12:00:00", "2026-05-04T12:00:00 ", "2026-05-04T25:00:00", "1777896000", ""},
		},
		"http_date": {
			[]string{"Mon, 04 May 2026 12:00:00 GMT"},
			[]string{"Mon, 04 May 2026 12:00:00 +0000", "Mon, 04 May 2026 14:00:00 CEST", "2026-05-04T12:00:00Z", "1777896000"},
		},
		"rfc3339": {nil, []string{"2026-05-04T12:00:00"}},
		"s_or_ms": {[]string{"1777896000", "1777896000123"}, []string{"1777896000.5", "01777896000", "-1777896000", "17778960001230000"}},
	} {
		at := signedTime{unit: unit}
		for _, text := range c.good {
			got, ok := at.parse(text)
			require.True(t, ok, "%s: %s", unit, text)
			require.WithinDuration(t, clock, got, time.Second)
		}
		for _, text := range c.bad {
			_, ok := at.parse(text)
			require.False(t, ok, "%s: %s", unit, text)
		}
	}
}

// A public key in base64 without a prefix works if the definition says so; a key of another length never does.
func TestRawEd25519Key(t *testing.T) {
	t.Parallel()
	p := compiled(t, "name: acme\nsecrets: A\nauth: [{ed25519: {key: base64, signed: \"{timestamp}|{body}\", signature: {header: x-s}, "+
		"timestamp: {header: x-t}}}]\ntype: .body.type\nkey: {parts: [.body.id]}\n")
	raw := strings.TrimPrefix(publicKey, "whpk_")
	r := signedRequest(t, p, privateKey)
	require.NoError(t, p.with(raw).Authenticate(r, clock))
	require.NoError(t, p.with(strings.TrimRight(raw, "=")).Authenticate(r, clock))
	for _, secret := range []string{publicKey, privateKey, raw[:40], raw[:42] + "AA" + raw[42:], strings.ToLower(raw)} {
		require.Error(t, p.with(secret).Authenticate(r, clock), secret)
	}
	r.Body[0] = ' '
	require.Equal(t, denial.BadSignature, denial.ReasonOf(p.with(raw).Authenticate(r, clock)))
}

// Only the address that the ingress reports counts, not a header, and the whole internet isn't a valid network.
func TestAddresses(t *testing.T) {
	t.Parallel()
	definition := "name: acme\nauth: [{address: {networks: NETS}}]\ntype: .body.type\nkey: {parts: [.body.id]}\n"
	p := compiled(t, definition)
	check := func(networks, address string) error {
		r := &Request{Header: map[string][]string{"x-forwarded-for": {"203.0.113.7"}}}
		if address != "" {
			r.RemoteIP = netip.MustParseAddr(address)
		}
		return p.with(networks).Authenticate(r, clock)
	}
	require.NoError(t, check("203.0.113.0/24, 2001:db8::/32", "203.0.113.7"))
	require.NoError(t, check("203.0.113.7", "::ffff:203.0.113.7"))
	require.NoError(t, check("203.0.113.0/24 2001:db8::/32", "2001:db8::1"))
	require.Equal(t, denial.Address, denial.ReasonOf(check("203.0.113.0/24", "198.51.100.9")))
	require.Equal(t, denial.Address, denial.ReasonOf(check("203.0.113.0/24", "")))
	require.Equal(t, denial.NoSecret, denial.ReasonOf(check("0.0.0.0/0, ::/0, nonsense", "203.0.113.7")))
}

// Parts that may be missing never stand for each other, and a part of the query counts only if it is there once.
func TestSignedPartsThatMayBeMissing(t *testing.T) {
	t.Parallel()
	p := compiled(t, `
name: acme
secrets: A
auth:
  - hmac:
      signed: "{query:id|id:|;}{header:x-request|request:|;}must:{query:must}{body}"
      signature: {query: signature}
`)
	signed := func(change func(*Request)) *Request {
		r := &Request{Body: []byte("{}"), Query: map[string][]string{"must": {"m"}}, URL: "https://we.example/in?must=m", Header: map[string][]string{}}
		change(r)
		require.NoError(t, p.Sign(r, secretOfTests, clock))
		return r
	}
	all := func(r *Request) { r.Query["id"] = []string{"1"}; r.SetHeader("x-request", "2") }
	r := signed(all)
	require.NoError(t, p.Authenticate(r, clock))
	require.Contains(t, r.URL, "signature="+r.Query["signature"][0])
	require.Equal(t, []string{"id", "must"}, p.Coverage().Query)
	require.Empty(t, p.Coverage().Uncovered([]string{"x-request"}, []string{"id", "must"}, nil))
	require.Len(t, p.Coverage().Uncovered(nil, []string{"other"}, []string{"id"}), 2, "a variable of the path isn't the parameter of its name")
	_, query, _ := p.Hidden()
	require.Equal(t, []string{"signature"}, query)
	require.NoError(t, p.Authenticate(signed(func(*Request) {}), clock))
	for name, c := range map[string]struct {
		change func(*Request)
		reason denial.Reason
	}{
		"without the one":       {func(r *Request) { delete(r.Query, "id") }, denial.BadSignature},
		"empty":                 {func(r *Request) { r.Query["id"] = []string{""} }, denial.BadSignature},
		"without the other":     {func(r *Request) { delete(r.Header, "x-request") }, denial.BadSignature},
		"the one in the other":  {func(r *Request) { delete(r.Header, "x-request"); r.Query["id"] = []string{"1;request:2"} }, denial.MalformedHeader},
		"the other in the one":  {func(r *Request) { delete(r.Query, "id"); r.SetHeader("x-request", "1;id:2") }, denial.MalformedHeader},
		"twice":                 {func(r *Request) { r.Query["id"] = []string{"1", "1"} }, denial.AmbiguousHeader},
		"header twice":          {func(r *Request) { r.Header["x-request"] = []string{"2", "2"} }, denial.AmbiguousHeader},
		"without a required":    {func(r *Request) { delete(r.Query, "must") }, denial.MissingID},
		"no signature":          {func(r *Request) { delete(r.Query, "signature") }, denial.MissingSignature},
		"signature twice":       {func(r *Request) { r.Query["signature"] = append(r.Query["signature"], "x") }, denial.AmbiguousHeader},
		"signature in a header": {func(r *Request) { r.SetHeader("signature", r.Query["signature"][0]); delete(r.Query, "signature") }, denial.MissingSignature},
	} {
		r := signed(all)
		c.change(r)
		err := p.Authenticate(r, clock)
		require.Error(t, err, name)
		require.Equal(t, c.reason, denial.ReasonOf(err), name)
	}
	for text, problem := range map[string]string{
		`{signed: "{query:a|x:|;}{query:b|x:1|;}-{body}", signature: {header: x-s}}`: "must begin with different text",
		`{signed: "{query:a|x:|;}{query:b}{body}", signature: {header: x-s}}`:        `must not begin like "x:"`,
		`{signed: "{query:a|x:|;}x:1{body}", signature: {header: x-s}}`:              `must not begin like "x:"`,
		`{signed: "{query:a|x:}{body}", signature: {header: x-s}}`:                   "between braces",
		`{signed: "{query:a||;}{body}", signature: {header: x-s}}`:                   "between braces",
		`{signed: "{query:}{body}", signature: {header: x-s}}`:                       "between braces",
		`{signed: "{url}{body}", signature: {query: s}}`:                             "can't be in a URL that it signs",
		`{signed: "{body}", signature: {query: s, header: x-s}}`:                     "want one of header, body and query",
	} {
		var problems definition.Problems
		d := read(t, &problems, "name: acme\nsecrets: A\nauth: [{hmac: "+text+"}]\n")
		New(&problems, d.Auth, d.Secrets, nil)
		require.ErrorContains(t, problems.Err(), problem, text)
	}
}

// A plain hash is valid with the secret in it, and the secret is nowhere else. One that begins with the secret can be made longer, but
// not by JSON.
func TestPlainHashes(t *testing.T) {
	t.Parallel()
	for _, signed := range []string{"{body}{secret}", "{secret}{body}", "{body}{timestamp}{secret}"} {
		stamp := ""
		if strings.Contains(signed, "timestamp") {
			stamp = ", timestamp: {header: x-t}"
		}
		p := compiled(t, "name: acme\nsecrets: A\nauth: [{hash: {signed: '"+signed+"', signature: {header: x-s}"+stamp+"}}]\n")
		r := signedRequest(t, p, secretOfTests)
		require.NoError(t, p.Authenticate(r, clock), signed)
		require.Error(t, p.Authenticate(signedRequest(t, p, otherSecret), clock), signed)
		require.False(t, p.HasKey(), "nobody can have a text signed by it")
		_, ok := p.OwnMAC("text")
		require.False(t, ok)
		_, ok = p.MAC(r, "text", clock)
		require.False(t, ok)
		keyed := compiled(t, "name: acme\nsecrets: A\nauth: [{hmac: {signed: '{body}', signature: {header: x-s}}}]\n")
		require.Error(t, p.Authenticate(signedRequest(t, keyed, secretOfTests), clock), signed)
		r.Body = append(r.Body, ' ')
		require.Equal(t, denial.BadSignature, denial.ReasonOf(p.Authenticate(r, clock)), signed)
	}
	for text, problem := range map[string]string{
		`{hash: {signed: "{body}", signature: {header: x-s}}}`:                              "{secret} is for hash",
		`{hash: {signed: "{secret}{body}{secret}", signature: {header: x-s}}}`:              "{secret} is for hash",
		`{hmac: {signed: "{body}{secret}", signature: {header: x-s}}}`:                      "{secret} is for hash",
		`{hash: {signed: "{body}{secret}", key: base64, signature: {header: x-s}}}`:         "auth[0].hash.key",
		`{hash: {signed: "{body}{secret}", signature: {header: x-s}}, token: {in: bearer}}`: "want exactly one of",
		`{hash: {algorithm: md5, signed: "{body}{secret}", signature: {header: x-s}}}`:      `"md5" is unknown`,
		`{hmac: {signed: "{sorted:}", partial: x, signature: {header: x-s}}}`:               "between braces",
		`{hmac: {signed: "{sorted:data}{body}", partial: x, signature: {header: x-s}}}`:     "auth[0].hmac.partial",
	} {
		var problems definition.Problems
		d := read(t, &problems, "name: acme\nsecrets: A\nauth: ["+text+"]\n")
		New(&problems, d.Auth, d.Secrets, nil)
		require.ErrorContains(t, problems.Err(), problem, text)
	}
}

// The fields of an object are signed in one order, and a text that could be two of them isn't authentic.
func TestSortedFields(t *testing.T) {
	t.Parallel()
	p := compiled(t, "name: acme\nsecrets: A\nauth: [{hmac: {signed: '{sorted:data}', partial: why, signature: {body: sig}}}]\n")
	sum := hmac.New(sha256.New, []byte(secretOfTests))
	sum.Write([]byte("a=1.50&b=x & y = z&c=&d=true"))
	check := func(data, rest string) error {
		body := `{"data":` + data + `,"sig":"` + hex.EncodeToString(sum.Sum(nil)) + `"` + rest + `}`
		return p.Authenticate(&Request{Body: []byte(body)}, clock)
	}
	require.NoError(t, check(`{"d":true,"b":"x & y = z","a":1.50,"c":null}`, ""))
	require.NoError(t, check(`{"a":1.50,"b":"x & y = z","c":"","d":"true"}`, `,"more":1`), "what is around isn't covered")
	require.Equal(t, []string{"data.*"}, p.Coverage().Body)
	require.Empty(t, p.Coverage().UncoveredBody("", [][]string{{"data", "a"}, {"data", "b", "c"}}))
	require.Len(t, p.Coverage().UncoveredBody("", [][]string{{"data"}, {"database"}, {"more"}}), 3)
	for name, c := range map[string]struct {
		data, rest string
		reason     denial.Reason
	}{
		"two fields in one":     {`{"a":1.50,"b":"x & y = z&c=","d":true}`, "", denial.MalformedHeader},
		"two fields in a name":  {`{"a=1.50&b":"x & y = z","c":null,"d":true}`, "", denial.MalformedHeader},
		"a number in other way": {`{"d":true,"b":"x & y = z","a":1.5,"c":null}`, "", denial.BadSignature},
		"a field twice":         {`{"a":9,"d":true,"b":"x & y = z","a":1.50,"c":null}`, "", denial.MalformedHeader},
		"the object twice":      {`{"a":1.50,"b":"x & y = z","c":"","d":"true"}`, `,"data":{"a":9}`, denial.MalformedHeader},
		"an object":             {`{"a":{},"b":"x"}`, "", denial.MalformedHeader},
		"a list":                {`[]`, "", denial.MalformedHeader},
		"nothing":               {`null`, "", denial.MalformedHeader},
		"too large":             {`{"a":"` + strings.Repeat("x", 70_000) + `"}`, "", denial.MalformedHeader},
	} {
		err := check(c.data, c.rest)
		require.Error(t, err, name)
		require.Equal(t, c.reason, denial.ReasonOf(err), name)
	}
}

// A token of each element of a list counts only if all have it.
func TestATokenInEachElement(t *testing.T) {
	t.Parallel()
	p := compiled(t, "name: acme\nsecrets: A\nauth: [{token: {in: body, name: 'value[].state'}}]\n").with(secretOfTests, oldSecret)
	r := &Request{Body: []byte(`{"value":[{"id":1},{"id":2}],"more":{"value":[]}}`)}
	require.NoError(t, p.Sign(r, secretOfTests, clock))
	require.NoError(t, p.Authenticate(r, clock))
	state := func(s string) string { return `{"state":"` + s + `"}` }
	ours := state(secretOfTests)
	for body, reason := range map[string]denial.Reason{
		`{"value":[` + ours + `,` + state(oldSecret) + `]}`:           "",
		`{"value":[` + ours + `,` + state("a guess of it") + `]}`:     denial.BadToken,
		`{"value":[` + ours + `,` + state("") + `]}`:                  denial.MissingToken,
		`{"value":[` + ours + `,{}]}`:                                 denial.MalformedToken,
		`{"value":[` + ours + `,{"state":null}]}`:                     denial.MalformedToken,
		`{"value":[` + ours + `,5]}`:                                  denial.MalformedToken,
		`{"value":[{"state":"` + secretOfTests + `","state":"x"}]}`:   denial.MalformedToken,
		`{"value":[` + ours + `],"value":[{}]}`:                       denial.MalformedToken,
		`{"value":[` + ours + `]} x`:                                  denial.MalformedToken,
		`{"value":` + ours + `}`:                                      denial.MalformedToken,
		`{"value":[]}`:                                                denial.MissingToken,
		`{}`:                                                          denial.MissingToken,
		`[` + ours + `]`:                                              denial.MalformedToken,
		`{"value":[` + strings.Repeat(ours+",", 10_000) + ours + `]}`: denial.MalformedToken,
	} {
		err := p.Authenticate(&Request{Body: []byte(body)}, clock)
		if reason == "" {
			require.NoError(t, err)
			continue
		}
		require.Error(t, err, body)
		require.Equal(t, reason, denial.ReasonOf(err), body)
	}
}

// What a proxy says of a client certificate counts only if the proxy is trusted.
func TestClientCertificatesByAProxy(t *testing.T) {
	t.Parallel()
	sum := sha256.Sum256([]byte("a certificate"))
	sum256 := hex.EncodeToString(sum[:])
	p := compiled(t, "name: acme\nsecrets: A\nauth: [{client_certificate: {header: X-Cert}}]\n").with(sum256, "CN=acme")
	require.Equal(t, []string{"x-cert"}, p.ProxyHeaders())
	require.Empty(t, p.SecretProblems(), "a subject may be short")
	headers, _, _ := p.Hidden()
	require.Equal(t, []string{"x-cert"}, headers)
	colons := strings.ToUpper(sum256[:2])
	for i := 2; i < len(sum256); i += 2 {
		colons += ":" + strings.ToUpper(sum256[i:i+2])
	}
	for _, shown := range []string{sum256, strings.ToUpper(sum256), colons, "CN=acme"} {
		r := &Request{Header: map[string][]string{"x-cert": {shown}}, FromProxy: true}
		require.NoError(t, p.Authenticate(r, clock), shown)
		r.FromProxy = false
		require.Equal(t, denial.MissingToken, denial.ReasonOf(p.Authenticate(r, clock)), shown)
	}
	for _, shown := range []string{sum256[:40], sum256[1:], "cn=acme", "CN=acme,O=x", "CN:=acme", strings.Repeat("0", 64)} {
		r := &Request{Header: map[string][]string{"x-cert": {shown}}, FromProxy: true}
		require.Equal(t, denial.BadToken, denial.ReasonOf(p.Authenticate(r, clock)), shown)
	}
	twice := &Request{Header: map[string][]string{"x-cert": {sum256, sum256}}, FromProxy: true}
	require.Equal(t, denial.AmbiguousHeader, denial.ReasonOf(p.Authenticate(twice, clock)))
	require.Equal(t, denial.MissingToken, denial.ReasonOf(p.Authenticate(&Request{FromProxy: true}, clock)))
	require.Equal(t, denial.NoSecret, denial.ReasonOf(p.with().Authenticate(&Request{FromProxy: true}, clock)))
}
