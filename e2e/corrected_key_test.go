package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A definition names a wrong key part, so an event becomes a dead letter. The definition is corrected, and the event is replayed
// and sent again, in either order: it is processed once, and its dead letter is resolved. A replay
// that ends as a duplicate succeeds, and names the other event.
func TestACorrectedKeyHasOneEffect(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	define := func(text string) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, "acme.yaml"), []byte(text), 0o600))
	}
	define(strings.Replace(acme, "parts: [.body.id]", "parts: [.body.event_id], certainty: certain", 1))
	i := newInstallation(t, "HOLDFAST_PROVIDERS_DIR="+dir, "ACME_TOKEN=token-of-acme")
	n := i.start(t, "serve")
	send := func(order string) {
		a, err := n.post("/webhooks/acme", fmt.Appendf(nil, `{"id":%q,"type":"order.paid","order":%q,"total":7}`, "evt_"+order, order),
			"X-Acme-Token", "token-of-acme")
		require.NoError(t, err)
		require.Equal(t, 202, a.status, string(a.body))
	}
	letters := func(state, order string) string {
		return fmt.Sprintf("SELECT count(*) FROM dead_letters WHERE state = '%s' AND convert_from(raw_body, 'UTF8') LIKE '%%evt_%s%%'",
			state, order)
	}
	replay := func(order string) {
		var id string
		i.query(t, "SELECT id::text FROM dead_letters WHERE convert_from(raw_body, 'UTF8') LIKE $1", []any{"%evt_" + order + "%"}, &id)
		out, err := i.run(t, "dlq", "replay", id, "--wait")
		require.NoError(t, err, out)
		require.Equal(t, order == "repeated", strings.Contains(out, "duplicate of event "), out)
	}
	for _, order := range []string{"replayed", "repeated"} {
		send(order)
		i.awaitCount(t, time.Minute, 1, letters("open", order))
	}
	define(strings.Replace(acme, "parts: [.body.id]", "parts: [.body.id], certainty: certain", 1))
	n.reload(t, "providers.reloaded")

	out, err := i.run(t, "dlq", "replay", "--provider", "acme", "--dry-run")
	require.NoError(t, err, out)
	require.Regexp(t, `other keys +2 by the current definition`, out)
	require.NotContains(t, out, "shared keys")

	replay("replayed")
	i.awaitCount(t, time.Minute, 1, letters("resolved", "replayed"))
	send("replayed")
	send("repeated")
	i.awaitCount(t, time.Minute, 2, processedEvents+" AND provider = 'acme'")
	replay("repeated")
	for _, order := range []string{"replayed", "repeated"} {
		i.awaitCount(t, time.Minute, 1, letters("resolved", order))
		i.awaitCount(t, time.Minute, 1, "SELECT count(*) FROM events WHERE key = 'evt_"+order+"'")
		i.awaitCount(t, time.Minute, 1, "SELECT count(*) FROM event_entities WHERE external_id = '"+order+"'")
	}
	i.awaitCount(t, time.Minute, 1, "SELECT count(*) FROM dead_letters WHERE duplicate_of IS NOT NULL")
	i.awaitCount(t, time.Minute, 2, "SELECT count(*) FROM events")
}
