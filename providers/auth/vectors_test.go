package auth

import (
	"encoding/json"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A vector is one case of vectors.json: a request, and whether it is authentic.
type vector struct {
	ID       string            `json:"id"`
	Provider string            `json:"provider"`
	Scheme   string            `json:"scheme"`
	Secret   any               `json:"secret"`
	Headers  map[string]string `json:"headers"`
	Body     string            `json:"body"`
	Now      *float64          `json:"now"`
	Valid    bool              `json:"valid"`
	Why      string            `json:"why"`
	URL      string            `json:"url"`
	RemoteIP string            `json:"remote_ip"`
	TokenIn  string            `json:"token_in"`
	Token    string            `json:"token_name"`
}

// sharedFixtures returns the folder of recorded cases next to the checkout; the test is skipped if there is none.
func sharedFixtures(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	require.NoError(t, err)
	for ; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			break
		}
		require.NotEqual(t, dir, filepath.Dir(dir), "no go.mod above the test")
	}
	shared := filepath.Join(dir, "..", "shared", "fixtures")
	if _, err := os.Stat(shared); err != nil {
		t.Skipf("the recorded fixtures are not beside the checkout: %s", shared)
	}
	return shared
}

func (v vector) secrets(string) []string {
	if s, ok := v.Secret.(string); ok {
		return []string{s}
	}
	var out []string
	for _, s := range v.Secret.([]any) {
		out = append(out, s.(string))
	}
	return out
}

func (v vector) now() time.Time {
	if v.Now == nil {
		return time.Unix(1_700_000_000, 0)
	}
	return time.UnixMilli(int64(*v.Now*1000 + 0.5))
}

func (v vector) request(t *testing.T, p *sender) *Request {
	t.Helper()
	r := &Request{Method: http.MethodPost, Body: []byte(v.Body), URL: v.URL, Header: map[string][]string{}}
	for name, value := range v.Headers {
		r.Header[strings.ToLower(name)] = []string{value}
	}
	if v.URL != "" {
		u, err := url.Parse(v.URL)
		require.NoError(t, err)
		r.Path, r.Query = u.Path, u.Query()
	}
	if v.TokenIn == "path" {
		last := r.Path[strings.LastIndex(r.Path, "/")+1:]
		segments := []string{"webhooks", v.Provider, last}
		i := slices.IndexFunc(p.paths, func(one Path) bool {
			_, ok := one.Match(segments)
			return ok
		})
		require.GreaterOrEqual(t, i, 0)
		r.PathParams, _ = p.paths[i].Match(segments)
	}
	if v.RemoteIP != "" {
		r.RemoteIP = netip.MustParseAddr(v.RemoteIP)
	}
	return r
}

// Every recorded signature gets the same result as from its provider's own code.
func TestRecordedVectors(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join(sharedFixtures(t), "vectors.json"))
	require.NoError(t, err)
	var vectors []vector
	require.NoError(t, json.Unmarshal(text, &vectors))
	senders := builtIn(t)
	missing := map[string]int{}
	for _, v := range vectors {
		p, ok := senders[v.Provider]
		if !ok {
			missing[v.Provider]++
			continue
		}
		t.Run(v.ID, func(t *testing.T) {
			a := p.WithSecrets(v.secrets)
			a.placeholders = true // the published vectors use published secrets
			err := a.Authenticate(v.request(t, p), v.now())
			require.Equal(t, v.Valid, err == nil, "%s: %v", v.Why, err)
		})
	}
	t.Logf("vectors of providers that the catalogue does not have: %v", missing)
}
