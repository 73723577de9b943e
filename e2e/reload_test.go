package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// acme is a minimal user definition.
const acme = `
name: acme
auth:
  - token: {secrets: ACME_TOKEN, in: header, name: x-acme-token}
type: .body.type
key: {parts: [.body.id]}
entities:
  - {kind: order, id: .body.order, op: patch, state: '{total: .body.total}'}
`

// reload sends a SIGHUP and waits for the process's log line.
func (n *node) reload(t *testing.T, line string) {
	t.Helper()
	before := strings.Count(n.log.String(), line)
	require.NoError(t, n.command.Process.Signal(syscall.SIGHUP))
	eventually(t, 30*time.Second, line, func() error {
		if strings.Count(n.log.String(), line) == before {
			return fmt.Errorf("not in the log")
		}
		return nil
	})
}

// Definitions are reloaded while events come in:
//   - an added provider is used immediately, by the ingress and by the worker
//   - so is a corrected one
//   - a file with a mistake changes nothing, and the log names the mistake
//   - no request is lost or refused meanwhile
//   - a secret in a file is reloaded
func TestDefinitionsAreReloaded(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	tokens := filepath.Join(t.TempDir(), "tokens")
	write := func(file, text string) { require.NoError(t, os.WriteFile(file, []byte(text), 0o600)) }
	write(tokens, "token-that-comes-first\n")
	i := newInstallation(t, "HOLDFAST_PROVIDERS_DIR="+dir, "ACME_TOKEN_FILE="+tokens)
	n, worker := i.start(t, "ingress"), i.start(t, "worker")
	all := []*node{n, worker}
	send := func(id, token string) answer {
		a, err := n.post("/webhooks/acme", fmt.Appendf(nil, `{"id":%q,"type":"order.paid","order":"o1","total":7}`, id),
			"X-Acme-Token", token)
		require.NoError(t, err)
		return a
	}
	require.Equal(t, 404, send("early", "token-that-comes-first").status)

	load := startLoad(n, 4)
	write(filepath.Join(dir, "acme.yaml"), acme)
	for _, one := range all {
		one.reload(t, "providers.reloaded")
	}
	require.Equal(t, 202, send(uniqueID("a"), "token-that-comes-first").status)

	write(filepath.Join(dir, "acme.yaml"), acme+"priority: urgent\n")
	for _, one := range all {
		one.reload(t, "providers.rejected")
		require.Contains(t, one.log.String(), "acme.yaml:9:1: priority:")
	}
	require.Equal(t, 202, send(uniqueID("a"), "token-that-comes-first").status)

	write(tokens, "token-that-comes-second\n")
	write(filepath.Join(dir, "acme.yaml"), acme+"replies: {accepted: 201}\n")
	n.reload(t, "providers.reloaded")
	eventually(t, 10*time.Second, "the new secret is known", func() error {
		if got := send(uniqueID("a"), "token-that-comes-second").status; got != 201 {
			return fmt.Errorf("it answers %d", got)
		}
		return nil
	})
	require.Equal(t, 401, send(uniqueID("a"), "token-that-comes-first").status)
	load.stop()
	require.Positive(t, load.accepted.Load())
	require.Zero(t, load.unavailable.Load()+load.unreachable.Load()+load.other.Load(), "no request was lost on the way")
	i.awaitCount(t, time.Minute, 3, processedEvents+" AND provider = 'acme'")
}
