package providers

import (
	"bytes"
	"encoding/json"
	"flag"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/event"
	"holdfast/providers/auth"
	"holdfast/providers/reading"
)

var update = flag.Bool("update", false, "write the golden files")

// secretOfTests fits every scheme: text, and base64 after its prefix.
const secretOfTests = "whsec_aG9sZGZhc3QgdGVzdCBzZWNyZXQgMDEyMzQ1Njc4OQ=="

// clock is the arrival time of the fixtures.
var clock = time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)

// secretsOf returns the same secrets for every reference; in addition to secretOfTests those for the schemes that it doesn't
// fit.
func secretsOf(secrets ...string) auth.Secrets {
	if slices.Contains(secrets, secretOfTests) {
		secrets = append(slices.Clone(secrets), auth.TrialSecrets()[1:]...)
	}
	return func(string) []string { return secrets }
}

// catalogueOf returns the built-in catalogue with secrets.
func catalogueOf(t testing.TB, secrets ...string) *Catalogue {
	t.Helper()
	c, err := builtIn()
	require.NoError(t, err)
	return c.WithSecrets(secretsOf(secrets...)).WithCertificates(auth.TrialCertificates).WithKeySets(auth.TrialKeySets)
}

// builtIn is compiled once and never changed.
var builtIn = sync.OnceValues(func() (*Catalogue, error) { return Load("") })

func providerOf(t testing.TB, name string, secrets ...string) *Provider {
	t.Helper()
	p, ok := catalogueOf(t, secrets...).Lookup(name)
	require.True(t, ok)
	return p
}

// admit signs a request and asserts that it is authentic.
func admit(t require.TestingT, p *Provider, r *auth.Request) *auth.Request {
	if r.Header == nil {
		r.Header = map[string][]string{}
	}
	if p.Sign(r, secretOfTests, clock) != nil { // its key is hex
		require.NoError(t, p.SignWithSecrets(r, clock))
	}
	require.NoError(t, p.Authenticate(r, clock))
	return r
}

// readFixture reads an HTTP message without its signature: "POST /path", headers, an empty line, and the body up to the last
// byte.
func readFixture(t testing.TB, c *Catalogue, file string) (*Provider, *auth.Request) {
	t.Helper()
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	head, body, ok := bytes.Cut(data, []byte("\n\n"))
	require.True(t, ok, "no empty line in %s", file)
	lines := strings.Split(string(head), "\n")
	target, err := url.Parse(strings.TrimPrefix(lines[0], "POST "))
	require.NoError(t, err)
	r := &auth.Request{
		Method: http.MethodPost, Path: target.Path, Query: target.Query(), Body: body,
		Header: map[string][]string{}, URL: "https://hooks.example.com" + target.String(),
	}
	for _, line := range lines[1:] {
		name, value, _ := strings.Cut(line, ": ")
		r.Header[name] = append(r.Header[name], value)
	}
	p, params, ok := c.ByPath(r.Path)
	require.True(t, ok, "no provider at %s", r.Path)
	r.PathParams = params
	return p, r
}

// seen is what a golden file has for one event.
type seen struct {
	Key       string            `json:"key"`
	KeyFrom   event.KeyOrigin   `json:"key_from"`
	Type      string            `json:"type"`
	Source    string            `json:"source,omitempty"`
	Priority  event.Priority    `json:"priority"`
	Dedupe    event.Duration    `json:"dedupe_window"`
	Headers   map[string]string `json:"headers,omitempty"`
	Path      map[string]string `json:"path,omitempty"`
	Root      json.RawMessage   `json:"root,omitempty"`
	Parsed    *event.Parsed     `json:"parsed,omitempty"`
	Rejection string            `json:"rejection,omitempty"`
}

func receiptOfTest(p *Provider, item reading.Item) event.Receipt {
	return event.Receipt{Definition: p.Digest(),
		ID: "00000000-0000-7000-8000-000000000000", Provider: p.Name(), Source: item.Source, Key: item.Key,
		KeyFrom: item.KeyFrom, DedupeWindow: item.DedupeWindow, Type: item.Type, ReceivedAt: clock,
		Headers: item.Headers, Query: item.Query, Path: item.Path, Root: item.Root,
	}
}

func see(p *Provider, item reading.Item) seen {
	s := seen{
		Key: item.Key, KeyFrom: item.KeyFrom, Type: item.Type, Source: item.Source, Priority: item.Priority,
		Dedupe: item.DedupeWindow, Headers: item.Headers, Path: item.Path, Root: item.Root,
	}
	parsed, err := p.Parse(receiptOfTest(p, item), item.Body)
	if err != nil {
		s.Rejection = string(event.ClassOf(err)) + ": " + err.Error()
		return s
	}
	s.Parsed = &parsed
	return s
}

// Each fixture is signed, authenticated, split, keyed and mapped as in its golden file.
func TestFixtures(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*/*.http")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	c := catalogueOf(t, secretOfTests)
	keys := map[string]string{}
	for _, file := range files {
		t.Run(strings.TrimSuffix(file, ".http"), func(t *testing.T) {
			p, r := readFixture(t, c, file)
			require.Equal(t, filepath.Base(filepath.Dir(file)), p.Name())
			items, err := p.Split(admit(t, p, r))
			require.NoError(t, err)
			var all []seen
			for _, item := range items {
				all = append(all, see(p, item))
				other, taken := keys[p.Name()+":"+item.Key]
				require.False(t, taken, "shares its key with %s", other)
				keys[p.Name()+":"+item.Key] = file
			}
			compareGolden(t, strings.TrimSuffix(file, ".http")+".golden.json", all)
		})
	}
}

func compareGolden(t *testing.T, file string, got any) {
	t.Helper()
	text, err := json.MarshalIndent(got, "", "  ")
	require.NoError(t, err)
	text = append(text, '\n')
	if *update {
		require.NoError(t, os.WriteFile(file, text, 0o600))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err, "run go test -update and read what it writes")
	require.Equal(t, string(want), string(text))
}
