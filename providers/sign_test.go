package providers

import (
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/providers/auth"
	"holdfast/providers/auth/denial"
)

// arrive converts a sent request into a received one: everything in the URL is read from the URL.
func arrive(t *testing.T, c *Catalogue, sent *auth.Request) *auth.Request {
	t.Helper()
	u, err := url.Parse(sent.URL)
	require.NoError(t, err)
	r := &auth.Request{Method: sent.Method, Path: u.EscapedPath(), Query: u.Query(), Header: sent.Header, Body: sent.Body, URL: sent.URL}
	p, params, ok := c.ByPath(r.Path)
	require.True(t, ok, r.Path)
	require.NotNil(t, p)
	r.PathParams = params
	return r
}

// A request signed by any scheme is authentic on arrival.
func TestEverySchemeSigns(t *testing.T) {
	t.Parallel()
	const token = "s3cret/t?k n"
	for name, scheme := range map[string]string{
		"header":          "token: {secrets: S, in: header, name: X-Token}",
		"bearer":          "token: {secrets: S, in: bearer}",
		"query":           "token: {secrets: S, in: query, name: key}",
		"path":            "token: {secrets: S, in: path, name: token}",
		"body":            "token: {secrets: S, in: body, name: apikey}",
		"basic":           "basic: {secrets: S, user: gateway}",
		"jwt":             "jwt: {secrets: S, claims: {app: acme}}",
		"hmac of the URL": "hmac: {secrets: S, signed: '{url}{params}', body_hash: sum, signature: {header: x-sig}}",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			definition := "name: acme\nauth: [{" + scheme + "}]\npaths: ['/in/{tenant}/{token}/x']\ntype: .body.type\nkey: {parts: [.body.id]}\n"
			catalogue, err := Load(writeDefinitions(t, map[string]string{"acme.yaml": definition}))
			require.NoError(t, err)
			catalogue = catalogue.WithSecrets(secretsOf(token))
			p, _ := catalogue.Lookup("acme")
			sent := &auth.Request{
				Method: "POST", Path: "/webhooks/acme", URL: "https://hooks.example.com/webhooks/acme?a=1",
				Query: map[string][]string{"a": {"1"}}, Body: []byte(`{"id":12345678901234567890,"type":"x"}`),
				Header: map[string][]string{"content-type": {"application/json"}},
			}
			require.NoError(t, p.SignWithSecrets(sent, clock))
			got := arrive(t, catalogue, sent)
			require.NoError(t, p.Authenticate(got, clock))
			items, err := p.Split(got)
			require.NoError(t, err)
			require.Equal(t, "12345678901234567890", items[0].Key)
			if name == "path" {
				require.Equal(t, "/in/tenant/s3cret%2Ft%3Fk%20n/x", got.Path)
			}
		})
	}
}

// Each scheme signs with the secrets that it names, and a sender identified by its address needs none.
func TestSecretsStayWithTheirScheme(t *testing.T) {
	t.Parallel()
	for reference, look := range map[string]func(*auth.Request) string{
		"EVOLUTION_WEBHOOK_TOKEN":  func(r *auth.Request) string { return r.Header["x-webhook-token"][0] },
		"EVOLUTION_BASIC_PASSWORD": func(r *auth.Request) string { return r.Header["authorization"][0][:6] },
		"EVOLUTION_QUERY_TOKEN":    func(r *auth.Request) string { return r.URL },
		"EVOLUTION_INSTANCE_TOKEN": func(r *auth.Request) string { return string(r.Body) },
		"EVOLUTION_NETWORKS":       func(r *auth.Request) string { return r.URL },
	} {
		catalogue := catalogueOf(t).WithSecrets(func(name string) []string {
			switch {
			case name != reference:
				return nil
			case strings.HasSuffix(name, "NETWORKS"):
				return []string{"192.0.2.0/24"}
			}
			return []string{"token of " + name}
		})
		p, _ := catalogue.Lookup("evolution")
		r := signedSample(t, p, "messages.upsert", "x1")
		require.NotEmpty(t, look(r))
		got := arrive(t, catalogue, r)
		got.RemoteIP = netip.MustParseAddr("192.0.2.7")
		require.NoError(t, p.Authenticate(got, clock), reference)
	}
	p, _ := catalogueOf(t).Lookup("stripe")
	r, err := p.Sample("customer.updated", "x", clock)
	require.NoError(t, err)
	require.Equal(t, denial.NoSecret, denial.ReasonOf(p.SignWithSecrets(r, clock)))
}

// At another system we can't choose the path.
func TestPathTokenAtAnyAddress(t *testing.T) {
	t.Parallel()
	p := providerOf(t, "rentprog", secretOfTests)
	r := &auth.Request{Path: "/elsewhere/hook", URL: "https://example.com/elsewhere/hook", Body: []byte("{}")}
	require.NoError(t, p.Sign(r, "tok", clock))
	require.Equal(t, "https://example.com/elsewhere/hook/tok", r.URL)
}

func signedSample(t testing.TB, p *Provider, eventType, id string) *auth.Request {
	t.Helper()
	r, err := p.Sample(eventType, id, clock)
	require.NoError(t, err)
	r.URL = "https://hooks.example.com" + r.Path
	require.NoError(t, p.SignWithSecrets(r, clock))
	return r
}

// Of two header families only the signed one identifies the event: anyone can add the other.
func TestUnsignedTwinOfAHeader(t *testing.T) {
	t.Parallel()
	p := providerOf(t, "svix", secretOfTests)
	sw := providerOf(t, "standard-webhooks", secretOfTests)
	r := admit(t, sw, &auth.Request{Body: []byte(`{"id":"evt_1","type":"ping"}`)})
	r.Header["svix-id"] = []string{"msg_forged"}
	require.NoError(t, p.Authenticate(r, clock))
	items, err := p.Split(r)
	require.NoError(t, err)
	require.Equal(t, r.Header["webhook-id"][0], items[0].Key)
}

// A sample that is signed a second later, as when a load test repeats it, is the same event: its message ID is the sample's,
// and doesn't depend on the time.
func TestSigningLaterKeepsTheKey(t *testing.T) {
	t.Parallel()
	catalogue := catalogueOf(t).WithSecrets(func(string) []string { return append(auth.TrialSecrets(), secretOfTests) })
	for _, name := range catalogue.Names() {
		p, _ := catalogue.Lookup(name)
		for _, eventType := range p.SampleTypes() {
			var keys []string
			for _, at := range []time.Time{clock, clock.Add(time.Second)} {
				r, err := p.Sample(eventType, "x1", clock)
				require.NoError(t, err)
				r.URL = "https://hooks.example.com" + r.Path
				require.NoError(t, p.SignWithSecrets(r, at))
				require.NoError(t, p.Authenticate(r, at), "%s %s", name, eventType)
				items, err := p.Split(r)
				require.NoError(t, err)
				for _, item := range items {
					keys = append(keys, item.Key)
				}
			}
			half := len(keys) / 2
			require.Equal(t, keys[:half], keys[half:], "%s %s", name, eventType)
		}
	}
}
