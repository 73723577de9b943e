package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"

	"holdfast/event"
	"holdfast/event/fold"
	"holdfast/event/operation"
)

// rebuilt is a rebuild as the command line prints it.
type rebuilt struct {
	operation.Rebuild

	Diff []fold.EntityDiff `json:"diff"`
}

// rebuild runs a rebuild from the command line to its end.
func (i *installation) rebuild(t *testing.T, args ...string) (r rebuilt, err error) {
	t.Helper()
	out, err := i.run(t, append([]string{"entity", "rebuild", "--json"}, args...)...)
	start := strings.Index(out, "{\n")
	require.GreaterOrEqual(t, start, 0, out)
	require.NoError(t, json.NewDecoder(strings.NewReader(out[start:])).Decode(&r), out)
	return r, err
}

// A definition that reads the wrong field is corrected and reloaded:
//   - a dry run shows how the entities would change, and changes nothing
//   - the rebuild changes them, alongside live traffic
//   - a second one finds nothing to change
//   - one that is paused and then canceled keeps its position
func TestABadDefinitionIsRepaired(t *testing.T) {
	t.Parallel()
	const orders = 40
	dir := t.TempDir()
	file := filepath.Join(dir, "acme.yaml")
	write := func(text string) { require.NoError(t, os.WriteFile(file, []byte(text), 0o600)) }
	write(strings.ReplaceAll(acme, ".body.total", ".body.tax"))
	i := newInstallation(t, "HOLDFAST_PROVIDERS_DIR="+dir, "ACME_TOKEN=token-of-the-test")
	n := i.start(t, "serve")
	send := func(k int) {
		a, err := n.post("/webhooks/acme", fmt.Appendf(nil, `{"id":%q,"type":"order.paid","order":"o%d","total":7,"tax":1}`,
			uniqueID("a"), k%10), "X-Acme-Token", "token-of-the-test")
		require.NoError(t, err)
		require.Equal(t, 202, a.status)
	}
	for k := range orders {
		send(k)
	}
	i.awaitCount(t, time.Minute, orders, processedEvents)
	require.JSONEq(t, `{"total":1}`, i.entity(t, "acme", "order", "o3"))

	write(acme)
	n.reload(t, "providers.reloaded")
	dry, err := i.rebuild(t, "--provider", "acme", "--kind", "order", "--dry-run")
	require.NoError(t, err)
	require.Equal(t, []int64{orders, orders, 0, 10}, []int64{dry.Read, dry.Changed, dry.Unreadable, dry.Entities})
	require.Len(t, dry.Diff, 10)
	require.Equal(t, fold.EntityDiff{
		EntityRef: event.EntityRef{Provider: "acme", Kind: "order", ExternalID: "o3"},
		Fields:    []fold.FieldDiff{{Path: "/total", Old: json.RawMessage("1"), New: json.RawMessage("7")}},
	}, dry.Diff[3])
	require.JSONEq(t, `{"total":1}`, i.entity(t, "acme", "order", "o3"))

	load := startLoad(n, 2)
	done, err := i.rebuild(t, "--provider", "acme", "--yes", "--reason", "INC-42")
	load.stop()
	require.NoError(t, err)
	require.Equal(t, operation.Completed, done.State)
	require.Equal(t, []int64{orders, orders, 0, 10}, []int64{done.Read, done.Changed, done.Unreadable, done.Entities})
	require.Positive(t, load.accepted.Load())
	for k := range 10 {
		require.JSONEq(t, `{"total":7}`, i.entity(t, "acme", "order", fmt.Sprintf("o%d", k)))
	}
	i.awaitStatus(t, "rebuild/"+done.ID, enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED)
	i.replay(t, "rebuild_completed", "rebuild/"+done.ID)

	again, err := i.rebuild(t, "--provider", "acme", "--yes")
	require.NoError(t, err)
	require.Equal(t, []int64{orders, 0, 0, 0}, []int64{again.Read, again.Changed, again.Unreadable, again.Entities})

	slow, err := i.rebuild(t, "--provider", "acme", "--rate", "1/s", "--yes", "--detach")
	require.NoError(t, err)
	_, err = i.run(t, "entity", "rebuild", "--yes")
	require.Error(t, err, "one at a time")
	for _, verb := range []string{"pause", "resume", "cancel"} {
		out, err := i.run(t, "rebuild", verb, slow.ID)
		require.NoError(t, err, out)
	}
	i.awaitStatus(t, "rebuild/"+slow.ID, enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED)
	i.replay(t, "rebuild_canceled", "rebuild/"+slow.ID)
	out, err := i.run(t, "rebuild", "list")
	require.NoError(t, err)
	require.Contains(t, out, slow.ID)
	out, err = i.run(t, "rebuild", "diff", "unknown")
	require.Error(t, err)
	require.Contains(t, out+err.Error(), "Only the latest rebuild has one")
	require.Equal(t, 7, i.count(t, "SELECT count(*) FROM audit_log WHERE action LIKE 'rebuild.%'"))
}
