package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// An event of 6 MiB makes an entity with all of its text, which exceeds the limit, and a small one:
//   - it is processed, with the small entity, and says what it left out and what to do
//   - the doctor counts it
//   - after the rule selects less, a rebuild changes the entity, and the mark is gone
func TestALargeEntityIsLeftOut(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "bulky.yaml")
	define := func(state string) {
		definition := largest + "  - {kind: document, id: .body.id, op: snapshot, state: '" + state + "'}\n"
		require.NoError(t, os.WriteFile(file, []byte(definition), 0o600))
	}
	define("{text: .body.text}")
	i := newInstallation(t, "HOLDFAST_PROVIDERS_DIR="+filepath.Dir(file), "BULKY_TOKEN="+secret)
	n := i.start(t, "serve")
	sent := n.deliver(t, 202, "/webhooks/bulky", bulkyEvent("whole", 6<<20, 1), "X-Bulky-Token", secret)
	i.awaitCount(t, time.Minute, 1, processedEvents)
	require.Zero(t, i.count(t, "SELECT count(*) FROM dead_letters"))
	require.Equal(t, 1, i.count(t, "SELECT count(*) FROM entities WHERE external_id = 'whole-0'"))
	require.Equal(t, 1, i.count(t, "SELECT count(*) FROM entities"))

	show := func() string {
		out, err := i.run(t, "event", "show", sent.Events[0].EventID)
		require.NoError(t, err, out)
		return out
	}
	require.Contains(t, show(), "document whole (state_too_large); to fix: select less")
	list, err := i.run(t, "event", "list", "--omitted")
	require.NoError(t, err, list)
	require.Contains(t, list, "(entities left out)")
	report, _ := i.run(t, "doctor")
	require.Contains(t, report, "1 event left out entities beyond a limit in the last day: bulky 1")

	n.terminate(t)
	define("{size: (.body.text | length)}")
	i.start(t, "serve")
	out, err := i.run(t, "entity", "rebuild", "--provider", "bulky", "--yes")
	require.NoError(t, err, out)
	require.Equal(t, 1, i.count(t, "SELECT count(*) FROM entities WHERE external_id = 'whole' AND state ->> 'size' <> ''"))
	require.NotContains(t, strings.ToLower(show()), "left out")
}
