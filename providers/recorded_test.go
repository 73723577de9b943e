package providers

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast/event"
	"holdfast/providers/auth"
	"holdfast/providers/decode"
)

// sharedRequest reads a recorded body as a request, with its event type in the header that the provider uses.
func sharedRequest(t *testing.T, file string) *auth.Request {
	t.Helper()
	body, err := os.ReadFile(file)
	require.NoError(t, err)
	name := strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))
	r := &auth.Request{Method: "POST", Path: "/", Body: body, URL: "https://hooks.example.com/", Header: map[string][]string{
		"content-type": {"application/json"},
	}}
	if filepath.Ext(file) == ".txt" {
		r.Header["content-type"] = []string{decode.FormType}
	}
	switch filepath.Base(filepath.Dir(file)) {
	case "github":
		kind, _, _ := strings.Cut(name, ".")
		r.Header["x-github-event"] = []string{kind}
		r.Header["x-github-delivery"] = []string{"00000000-0000-4000-8000-" + name}
	case "shopify":
		r.Header["x-shopify-topic"] = []string{"products/create"}
		r.Header["x-shopify-webhook-id"] = []string{name}
	case "paypal":
		for _, header := range []string{"id", "time"} {
			r.Header["paypal-transmission-"+header] = []string{name}
		}
		r.Header["paypal-cert-url"] = []string{"https://api.paypal.com/v1/notifications/certs/CERT-1"}
	case "twilio":
		r.Header["content-type"] = []string{decode.FormType}
		if filepath.Ext(file) == ".json" {
			r.Header["content-type"] = []string{"application/json"}
		}
	}
	return r
}

// The recorded payloads of every provider are accepted and parsed, and no two of them share a key.
func TestRecordedPayloads(t *testing.T) {
	t.Parallel()
	shared := sharedFixtures(t)
	c := catalogueOf(t, secretOfTests)
	for _, name := range c.Names() {
		files, err := filepath.Glob(filepath.Join(shared, name, "*.*"))
		require.NoError(t, err)
		keys := map[string]string{}
		p, _ := c.Lookup(name)
		for _, file := range files {
			if strings.HasPrefix(filepath.Base(file), "sdk_events_list_schema") {
				continue // a stub of the API, not a delivery
			}
			r := sharedRequest(t, file)
			admit(t, p, r)
			if _, ok := p.Challenge(r, clock); ok {
				continue
			}
			items, err := p.Split(r)
			require.NoError(t, err)
			for _, item := range items {
				parsed, err := p.Parse(receiptOfTest(p, item), item.Body)
				if err != nil && item.KeyFrom != event.KeyFromNothing {
					t.Errorf("%s: %v", file, err)
				}
				if other, taken := keys[item.Key]; taken && filepath.Base(filepath.Dir(file)) != "stripe" {
					t.Errorf("%s and %s share a key", file, other)
				}
				keys[item.Key] = file
				t.Logf("%-16s %-40s %-24s %-6.40s %s %v", name, filepath.Base(file), parsed.Type, item.Key, item.KeyFrom, summary(parsed))
			}
		}
	}
}

func summary(p event.Parsed) string {
	out := p.OccurredAt.Format("2006-01-02T15:04:05")
	if p.OccurredAtMissing {
		out = "-"
	}
	for _, c := range p.Changes {
		out += " " + string(c.Op) + " " + c.Kind + "/" + c.ExternalID
	}
	return out
}

// sharedFixtures returns the folder of recorded cases next to the checkout; the test is skipped if there is none.
func sharedFixtures(t testing.TB) string {
	t.Helper()
	shared := "../../shared/fixtures"
	if _, err := os.Stat(shared); err != nil {
		t.Skipf("the recorded fixtures are not beside the checkout: %s", shared)
	}
	return shared
}
