package e2e

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Each result of an event is counted once, whether it has a run of its own or is processed in a batch. A process that stops writes
// its last counts.
func TestResultsOfEventsAreCounted(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	const definition = "extends: standard-webhooks\ntype: .body.type // \"note\"\noccurred_at: []\n" +
		"overrides: [{types: [unwanted], ignore: true}]\n"
	for name, lane := range map[string]string{"own": "", "batched": "lane: bulk\n"} {
		text := "name: " + name + "\n" + lane + definition
		require.NoError(t, os.WriteFile(filepath.Join(dir, name+".yaml"), []byte(text), 0o644))
	}
	i := newInstallation(t, "HOLDFAST_PROVIDERS_DIR="+dir)
	n := i.start(t, "serve")
	begun := time.Now().Truncate(5 * time.Minute)
	for _, name := range []string{"own", "batched"} {
		for _, body := range []string{`{"type":"note"}`, `{"type":"note"}`, `{"type":"unwanted"}`, poison} {
			a := n.sendStandard(t, "/webhooks/"+name, uniqueID("msg"), []byte(body))
			require.Less(t, a.status, 300, string(a.body))
		}
	}
	i.awaitCount(t, time.Minute, 6, "SELECT count(*) FROM events WHERE status = 'processed'")
	i.awaitCount(t, time.Minute, 2, openDeadLetters)
	n.terminate(t)
	for _, name := range []string{"own", "batched"} {
		var processed, ignored, dead int
		i.query(t, "SELECT sum(processed), sum(ignored), sum(dead) FROM event_minutes WHERE provider = $1 AND starts_at >= $2",
			[]any{name, begun}, &processed, &ignored, &dead)
		require.Equal(t, []int{2, 1, 1}, []int{processed, ignored, dead}, name)
	}
}
