package auth

import (
	"holdfast/providers/auth/denial"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

const (
	oldSecret   = "whsec_b2xkIHNlY3JldCBvZiB0aGUgdGVzdHMgMDEyMzQ1Njc="
	otherSecret = "whsec_b3RoZXIgc2VjcmV0IG9mIHRoZSB0ZXN0cyAwMTIzNDU="
)

func signedRequest(t testing.TB, p *sender, secret string) *Request {
	t.Helper()
	r := &Request{
		Method: http.MethodPost, Path: "/webhooks/" + p.name, URL: "https://hooks.example.com/webhooks/" + p.name,
		Header: map[string][]string{"content-type": {"application/json"}},
		Body:   []byte(`{"id":"evt_1","type":"ping","data":{"id":"x"}}`),
	}
	require.NoError(t, p.Sign(r, secret, clock))
	return r
}

func edit(header string, change func(string) string) func(*Request) {
	return func(r *Request) { r.Header[header] = []string{change(r.Header[header][0])} }
}

func replace(header, from, to string) func(*Request) {
	return edit(header, func(s string) string { return strings.Replace(s, from, to, 1) })
}

func set(header, value string) func(*Request) {
	return edit(header, func(string) string { return value })
}

type attempt struct {
	name   string
	change func(*Request)
	after  time.Duration // delay from signing to arrival
	reason denial.Reason // "" for authentic
}

func checkAttempts(t *testing.T, provider string, attempts []attempt) {
	t.Helper()
	p := senderOf(t, provider, secretOfTests)
	for _, a := range attempts {
		t.Run(a.name, func(t *testing.T) {
			t.Parallel()
			r := signedRequest(t, p, secretOfTests)
			if a.change != nil {
				a.change(r)
			}
			err := p.Authenticate(r, clock.Add(a.after))
			if a.reason == "" {
				require.NoError(t, err)
				return
			}
			require.Error(t, err)
			require.Equal(t, a.reason, denial.ReasonOf(err))
		})
	}
}

func TestStripeSignatures(t *testing.T) {
	t.Parallel()
	const h = "stripe-signature"
	bad := strings.Repeat("ab", 32)
	checkAttempts(t, "stripe", []attempt{
		{name: "as signed"},
		{name: "300 s old", after: 300 * time.Second},
		{name: "301 s old", after: 301 * time.Second, reason: denial.StaleTimestamp},
		{name: "300 s in the future", after: -300 * time.Second},
		{name: "301 s in the future", after: -301 * time.Second, reason: denial.TimestampFromFuture},
		{name: "no header", change: func(r *Request) { delete(r.Header, h) }, reason: denial.MissingSignature},
		{name: "empty header", change: set(h, ""), reason: denial.MissingSignature},
		{name: "two headers", change: func(r *Request) { r.Header[h] = append(r.Header[h], r.Header[h][0]) },
			reason: denial.AmbiguousHeader},
		{name: "empty v1", change: edit(h, func(s string) string { return s[:strings.Index(s, "v1=")+3] }),
			reason: denial.MalformedSignature},
		{name: "truncated v1", change: edit(h, func(s string) string { return s[:len(s)-2] }), reason: denial.MalformedSignature},
		{name: "one nibble less", change: edit(h, func(s string) string { return s[:len(s)-1] }), reason: denial.MalformedSignature},
		{name: "longer v1", change: edit(h, func(s string) string { return s + "00" }), reason: denial.MalformedSignature},
		{name: "upper-case hex", change: edit(h, func(s string) string {
			k, v, _ := strings.Cut(s, "v1=")
			return k + "v1=" + strings.ToUpper(v)
		})},
		{name: "wrong v1 before the right one", change: replace(h, ",v1=", ",v1="+bad+",v1=")},
		{name: "only v0", change: replace(h, "v1=", "v0="), reason: denial.MalformedHeader},
		{name: "space after the comma", change: replace(h, ",v1", ", v1"), reason: denial.MalformedHeader},
		{name: "20 signatures, the last one right", change: replace(h, ",v1=", strings.Repeat(",v1="+bad, 19)+",v1="),
			reason: denial.TooManySignatures},
		{name: "10 signatures, the last one right", change: replace(h, ",v1=", strings.Repeat(",v1="+bad, 9)+",v1=")},
		{name: "no timestamp", change: edit(h, func(s string) string { return s[strings.Index(s, "v1="):] }),
			reason: denial.MissingTimestamp},
		{name: "two timestamps", change: edit(h, func(s string) string { return "t=1," + s }), reason: denial.MalformedHeader},
		{name: "leading zero", change: replace(h, "t=1", "t=01"), reason: denial.MalformedTimestamp},
		{name: "sign", change: replace(h, "t=1", "t=+1"), reason: denial.MalformedTimestamp},
		{name: "float", change: replace(h, ",v1", ".0,v1"), reason: denial.MalformedTimestamp},
		{name: "2^63", change: replace(h, "t=1", "t=92233720368547758081"), reason: denial.MalformedTimestamp},
		{name: "10 KB of digits", change: replace(h, "t=1", "t="+strings.Repeat("1", 10_000)), reason: denial.MalformedHeader},
		{name: "other timestamp", change: replace(h, "t=1", "t=2"), reason: denial.BadSignature},
		{name: "element without =", change: edit(h, func(s string) string { return s + ",x" }), reason: denial.MalformedHeader},
		{name: "one byte more", change: func(r *Request) { r.Body = append(r.Body, ' ') }, reason: denial.BadSignature},
		{name: "one byte changed", change: func(r *Request) { r.Body[3] ^= 1 }, reason: denial.BadSignature},
		{name: "no body", change: func(r *Request) { r.Body = nil }, reason: denial.BadSignature},
	})
}

func TestStandardWebhooksSignatures(t *testing.T) {
	t.Parallel()
	const h = "webhook-signature"
	checkAttempts(t, "standard-webhooks", []attempt{
		{name: "as signed"},
		{name: "301 s old", after: 301 * time.Second, reason: denial.StaleTimestamp},
		{name: "301 s in the future", after: -301 * time.Second, reason: denial.TimestampFromFuture},
		{name: "empty v1", change: set(h, "v1,"), reason: denial.MalformedHeader},
		{name: "half a signature", change: edit(h, func(s string) string { return s[:24] }), reason: denial.MalformedSignature},
		{name: "extra spaces", change: edit(h, func(s string) string { return "  " + s + "   v9,x " })},
		{name: "unknown version", change: replace(h, "v1,", "v2,"), reason: denial.MalformedHeader},
		{name: "HMAC under the version of ed25519", change: replace(h, "v1,", "v1a,"), reason: denial.MalformedHeader},
		{name: "20 signatures", change: edit(h, func(s string) string { return strings.Repeat("v1,AAAA ", 19) + s }),
			reason: denial.TooManySignatures},
		{name: "other id", change: set("webhook-id", "msg_other"), reason: denial.BadSignature},
		{name: "id with a dot", change: set("webhook-id", "msg.1"), reason: denial.MalformedHeader},
		{name: "no id", change: func(r *Request) { delete(r.Header, "webhook-id") }, reason: denial.MissingID},
		{name: "two ids", change: func(r *Request) { r.Header["webhook-id"] = []string{"a", "b"} },
			reason: denial.AmbiguousHeader},
		{name: "no timestamp", change: func(r *Request) { delete(r.Header, "webhook-timestamp") },
			reason: denial.MissingTimestamp},
		{name: "milliseconds", change: edit("webhook-timestamp", func(s string) string { return s + "000" }),
			reason: denial.BadSignature},
	})
}

// While a secret is rotated, both are valid; afterwards only the new one is.
func TestRotationOfSecrets(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"stripe", "standard-webhooks"} {
		both := senderOf(t, name, secretOfTests, oldSecret)
		after := senderOf(t, name, secretOfTests)
		r := signedRequest(t, both, oldSecret)
		require.NoError(t, both.Authenticate(r, clock))
		require.Equal(t, denial.BadSignature, denial.ReasonOf(after.Authenticate(r, clock)))
		require.NoError(t, both.Authenticate(signedRequest(t, both, secretOfTests), clock))
		require.Error(t, both.Authenticate(signedRequest(t, both, otherSecret), clock))
	}
}

// A sender signs with both secrets if the header has room, so that an endpoint may have either; otherwise with the newest.
func TestSendersSignWithSeveralSecrets(t *testing.T) {
	t.Parallel()
	for name, room := range map[string]bool{"stripe": true, "standard-webhooks": true, "github": false, "paddle": true, "retell": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := &Request{Method: http.MethodPost, Header: map[string][]string{}, Body: []byte(`{"id":"evt_1"}`)}
			p := senderOf(t, name, secretOfTests)
			require.NoError(t, p.SignWithAll(r, []string{secretOfTests, oldSecret}, clock))
			require.NoError(t, p.Authenticate(r, clock))
			err := senderOf(t, name, oldSecret).Authenticate(r, clock)
			if room {
				require.NoError(t, err)
			} else {
				require.Equal(t, denial.BadSignature, denial.ReasonOf(err))
			}
			require.Equal(t, denial.NoSecret, denial.ReasonOf(p.SignWithAll(r, nil, clock)))
		})
	}
}

// Without a secret known only to both parties no request is authentic, not even one signed with the empty secret.
func TestNoSecretFailsClosed(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		secrets []string
		reason  denial.Reason
	}{
		{nil, denial.NoSecret},
		{[]string{""}, denial.NoSecret},
		{[]string{" \n"}, denial.NoSecret},
		{[]string{"whsec_"}, denial.PlaceholderSecret},
		{[]string{"changeme"}, denial.PlaceholderSecret},
		{[]string{"secret"}, denial.PlaceholderSecret},
		{[]string{"whsec_test_secret"}, denial.PlaceholderSecret},
		{[]string{"no-secret-provided"}, denial.PlaceholderSecret},
		{[]string{"", "CHANGEME"}, denial.PlaceholderSecret},
		{[]string{"a"}, denial.ShortSecret},
		{[]string{"whsec_MDEyMzQ1Nj"}, denial.ShortSecret},
		{[]string{"changeme", "elevenchars"}, denial.ShortSecret},
	} {
		p := senderOf(t, "stripe", c.secrets...)
		for _, secret := range append(c.secrets, "x") {
			r := signedRequest(t, p, secretOfTests)
			_ = p.Sign(r, secret, clock)
			require.Equal(t, c.reason, denial.ReasonOf(p.Authenticate(r, clock)), "%q", c.secrets)
		}
		require.Equal(t, c.reason, denial.ReasonOf(p.CheckSecrets()))
	}
	p := builtIn(t)["stripe"]
	require.Equal(t, denial.NoSecret, denial.ReasonOf(p.Authenticate(signedRequest(t, p, secretOfTests), clock)))
}

// A key of the wrong kind is unusable: text that isn't base64 if base64 is required, a private key, a public one for HMAC.
func TestUnusableSecrets(t *testing.T) {
	t.Parallel()
	for _, secret := range []string{"whsec_this is not base64!", "whsk_aG9sZGZhc3QgaG9sZGZhc3Q=", "whpk_aG9sZGZhc3QgaG9sZGZhc3Q="} {
		p := senderOf(t, "standard-webhooks", secret)
		require.Equal(t, denial.UnusableSecret, denial.ReasonOf(p.CheckSecrets()), secret)
		require.Error(t, p.Authenticate(signedRequest(t, p, secretOfTests), clock))
	}
}

// The text of an error repeats no part of the request or of the secret.
func TestErrorsRepeatNoValues(t *testing.T) {
	t.Parallel()
	p := senderOf(t, "stripe", secretOfTests)
	r := signedRequest(t, p, otherSecret)
	require.EqualError(t, p.Authenticate(r, clock), "not authentic: bad_signature")
}

// Useless secrets admit no request to any provider, whether it is signed with the useless secret or carries an empty one.
func TestUselessSecretsOfEveryProvider(t *testing.T) {
	t.Parallel()
	useless := rapid.SampledFrom([]string{"", " ", "\n", "whsec_", "whpk_", "changeme", "secret", "NULL", "undefined", "test"})
	senders := builtIn(t)
	names := slices.Sorted(maps.Keys(senders))
	rapid.Check(t, func(rt *rapid.T) {
		secrets := rapid.SliceOfN(useless, 0, 3).Draw(rt, "secrets")
		p := senders[rapid.SampledFrom(names).Draw(rt, "provider")].with(secrets...)
		require.Error(rt, p.CheckSecrets())
		for _, secret := range append(secrets, "", secretOfTests) {
			for _, s := range p.schemes {
				r := &Request{Body: []byte(`{"apikey":""}`), URL: "https://example.com/", Path: "/"}
				_ = s.sign(r, []string{secret}, clock)
				require.Error(rt, p.Authenticate(r, clock))
			}
		}
	})
}
