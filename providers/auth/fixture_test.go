package auth

import (
	"io/fs"
	"os"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/providers/definition"
)

// secretOfTests fits every scheme: text, and base64 after its prefix.
const secretOfTests = "whsec_aG9sZGZhc3QgdGVzdCBzZWNyZXQgMDEyMzQ1Njc4OQ=="

// Key pair of the seed 0123456789abcdef0123456789abcdef.
const (
	privateKey = "whsk_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="
	publicKey  = "whpk_I7xUkSwebpLEqGglyGfif/3FVb/71CRPF6Jqv//ull0="
)

// clock is the arrival time of requests.
var clock = time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)

// sender is the authentication of a provider.
type sender struct {
	*Authenticator
	name string
}

func secretsOf(secrets ...string) Secrets { return func(string) []string { return secrets } }

func sendersOf(t testing.TB, folder fs.FS) map[string]*sender {
	t.Helper()
	files, err := definition.Collect(folder)
	require.NoError(t, err)
	return compile(t, files)
}

func compile(t testing.TB, files definition.Files) map[string]*sender {
	t.Helper()
	senders := map[string]*sender{}
	for _, name := range files.Names() {
		var p definition.Problems
		d, _ := p.Read(files, files[name])
		paths, _ := NewPaths(&p, name, d.Paths)
		senders[name] = &sender{New(&p, d.Auth, d.Secrets, paths), name}
		require.NoError(t, p.Err())
	}
	return senders
}

var builtInFiles = sync.OnceValues(func() (definition.Files, error) { return definition.Collect(os.DirFS("../catalog")) })

func builtIn(t testing.TB) map[string]*sender {
	t.Helper()
	files, err := builtInFiles()
	require.NoError(t, err)
	return compile(t, files)
}

func (s *sender) with(secrets ...string) *sender {
	return &sender{s.WithSecrets(secretsOf(secrets...)), s.name}
}

// senderOf returns a built-in provider with secrets.
func senderOf(t testing.TB, name string, secrets ...string) *sender {
	t.Helper()
	s, ok := builtIn(t)[name]
	require.True(t, ok)
	return s.with(secrets...)
}

// compiled returns a compiled definition with the tests' secret.
func compiled(t testing.TB, text string) *sender {
	t.Helper()
	return sendersOf(t, fstest.MapFS{"acme.yaml": {Data: []byte(text)}})["acme"].with(secretOfTests)
}
