package lint

import (
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/providers"
	"holdfast/providers/auth"
)

// secretOfTests fits every scheme: text, and base64 after its prefix.
const secretOfTests = "whsec_aG9sZGZhc3QgdGVzdCBzZWNyZXQgMDEyMzQ1Njc4OQ=="

// clock is the arrival time of requests.
var clock = time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)

// minimal is the smallest definition; tests change one thing about it.
const minimal = `
name: acme
auth:
  - hmac:
      secrets: ACME_SECRET
      signed: "{body}"
      signature: {header: x-acme-signature}
type: .body.type
key: {parts: [.body.id]}
`

// secretsOf returns the same secrets for every reference; in addition to secretOfTests those for the schemes that it doesn't
// fit.
func secretsOf(secrets ...string) auth.Secrets {
	if slices.Contains(secrets, secretOfTests) {
		secrets = append(slices.Clone(secrets), auth.TrialSecrets()[1:]...)
	}
	return func(string) []string { return secrets }
}

// catalogueOf returns the built-in catalogue with secrets.
func catalogueOf(t testing.TB, secrets ...string) *providers.Catalogue {
	t.Helper()
	c, err := builtIn()
	require.NoError(t, err)
	return c.WithSecrets(secretsOf(secrets...)).WithCertificates(auth.TrialCertificates).WithKeySets(auth.TrialKeySets)
}

// builtIn is compiled once and never changed.
var builtIn = sync.OnceValues(func() (*providers.Catalogue, error) { return providers.Load("") })

func providerOf(t testing.TB, name string, secrets ...string) *providers.Provider {
	t.Helper()
	p, ok := catalogueOf(t, secrets...).Lookup(name)
	require.True(t, ok)
	return p
}

// writeDefinitions writes a user's folder.
func writeDefinitions(t testing.TB, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	return dir
}

func signedSample(t testing.TB, p *providers.Provider, eventType, id string) *auth.Request {
	t.Helper()
	r, err := p.Sample(eventType, id, clock)
	require.NoError(t, err)
	r.URL = "https://hooks.example.com" + r.Path
	require.NoError(t, p.SignWithSecrets(r, clock))
	return r
}
