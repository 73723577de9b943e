package e2e

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"

	"holdfast/workflows"
)

const (
	// marked counts the marks that a sweep has left after at least one other.
	marked     = "SELECT count(*) FROM sweep_marks WHERE counter > 1"
	healed     = "SELECT count(*) FROM audit_log WHERE action = 'reconcile' AND actor = 'holdfast sweep'"
	setBackBy  = healed + " AND detail->>'store' = $1"
	sweepOften = "HOLDFAST_REPLAY_SWEEP_INTERVAL=1s"
)

// PostgreSQL is restored from a backup, Temporal continues, and no command is run. The database has lost a processed event and
// a dead letter that an operator has discarded since:
//   - the event is processed again under its ID, entities included, although automatic replay is off
//   - the dead letter is recorded again and waits for an operator
//   - one audit entry reports both
//   - an event whose deletion from Temporal came first isn't restored
func TestAnOlderDatabaseHealsItself(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "homemade.yaml"), []byte(definitionOf("json")), 0o644))
	i := newInstallation(t, "HOLDFAST_PROVIDERS_DIR="+dir, sweepOften, "HOLDFAST_REPLAY_AUTOMATIC=false")
	n := i.start(t, "serve")
	i.awaitCount(t, time.Minute, 1, marked)
	i.replay(t, "sweep_marked", i.latestOf(t, workflows.TypeSweepRuns, "Completed"))
	i.pauseSweeps(t)
	n.terminate(t)
	i.backUp(t)

	n = i.start(t, "serve")
	i.runTool(t, "temporal", "schedule", "toggle", "--schedule-id", workflows.ScheduleSweep, "--unpause")
	lost, expunged, died := n.send(t, someEvent()).Events[0], n.send(t, someEvent()).Events[0], i.sendPoison(t, n)
	i.awaitCount(t, time.Minute, 2, processedEvents)
	i.awaitStatus(t, died, enumspb.WORKFLOW_EXECUTION_STATUS_FAILED)
	letter := fmt.Sprint(i.count(t, "SELECT id FROM dead_letters WHERE workflow_id = $1", died))
	for _, decide := range [][]string{
		{"dlq", "discard", letter, "--reason", "INC-42"}, {"purge", "--expunge", expunged.WorkflowID, "--reason", "INC-42"},
	} {
		out, err := i.run(t, decide...)
		require.NoError(t, err, out)
	}
	entities := i.entities(t)
	i.awaitStatus(t, lost.WorkflowID, enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED)
	i.awaitSweeps(t, 2)
	n.terminate(t)

	i.restore(t)
	require.Zero(t, i.count(t, "SELECT count(*) FROM events"))
	i.start(t, "serve")
	i.awaitCount(t, 2*time.Minute, 1, setBackBy, "PostgreSQL")
	i.awaitSweeps(t, 2)
	i.replay(t, "sweep_healed", i.latestOf(t, workflows.TypeSweepRuns, "Completed"))
	i.awaitCount(t, time.Minute, 1, processedEvents+" AND id = $1", lost.EventID)
	require.Equal(t, entities, i.entities(t))
	require.Equal(t, 1, i.count(t, "SELECT count(*) FROM dead_letters WHERE workflow_id = $1 AND state = 'exhausted'"+
		" AND error_code = 'malformed_json' AND error_message LIKE '%an operator may have decided%'", died))
	require.Equal(t, 2, i.count(t, "SELECT count(*) FROM dead_letters"))
	i.awaitSweeps(t, 2)
	require.Equal(t, 1, i.count(t, "SELECT count(*) FROM events"), "the expunged event isn't back")
	require.Equal(t, 1, i.count(t, healed), "a setback is reported once")
	require.Equal(t, 1, i.count(t, "SELECT count(*) FROM error_log WHERE error_code = 'store_set_back'"))
}

// The database's server changes its timeline under a running worker. A sweep compares the stores at once, although the next one
// of the schedule would come in a day.
func TestAFailoverIsSweptAtOnce(t *testing.T) {
	t.Parallel()
	i := newInstallation(t, "HOLDFAST_REPLAY_SWEEP_INTERVAL=24h")
	i.start(t, "serve")
	eventually(t, 2*time.Minute, "a sweep has left a mark", func() error {
		// Every five seconds another one, so that each of the worker's looks, one at its start and then every 15 s, sees another.
		i.exec(t, fmt.Sprintf("CREATE OR REPLACE FUNCTION server_timeline() RETURNS bigint LANGUAGE sql AS 'SELECT %d::bigint'",
			time.Now().Unix()/5))
		if i.count(t, "SELECT count(*) FROM sweep_marks") == 0 {
			return errors.New("none")
		}
		return nil
	})
}

// Temporal is restored from a backup, PostgreSQL continues, and no command is run. An event is stored and unfinished, and
// Temporal has lost its run:
//   - it is started again at once, and processed under its ID
//   - one audit entry reports it
func TestAnOlderTemporalHealsItself(t *testing.T) {
	t.Parallel()
	i, alone := aloneWithTemporal(t)
	i.env = append(append([]string{}, patience...), sweepOften)
	out, err := i.run(t, "migrate")
	require.NoError(t, err, out)
	n := i.start(t, "serve")
	require.Equal(t, "accepted", n.send(t, someEvent()).state())
	i.awaitCount(t, time.Minute, 1, processedEvents)
	i.awaitCount(t, time.Minute, 1, marked)
	n.terminate(t)
	require.NoError(t, alone.Stop())
	backup := t.TempDir()
	require.NoError(t, os.CopyFS(backup, os.DirFS(alone.Dir())))
	require.NoError(t, alone.Start())

	n = i.start(t, "serve")
	release := i.lock(t, "entities")
	stuck := i.awaitWaiting(t, n, someEvent())
	i.awaitCount(t, time.Minute, 1, persistedEvents)
	counter := i.count(t, "SELECT counter FROM sweep_marks")
	i.awaitCount(t, time.Minute, 1, "SELECT count(*) FROM sweep_marks WHERE counter > $1", counter+1)
	n.kill()
	require.NoError(t, alone.Stop())
	release()
	restoreFiles(t, alone.Dir(), backup)
	require.NoError(t, alone.Start())

	i.start(t, "serve")
	i.awaitCount(t, 2*time.Minute, 1, processedEvents+" AND workflow_id = $1", stuck)
	i.awaitCount(t, time.Minute, 1, setBackBy, "Temporal")
	require.Equal(t, 2, i.count(t, "SELECT count(*) FROM events"))
	require.Equal(t, 1, i.count(t, "SELECT count(*) FROM dead_letters WHERE state = 'resolved' AND error_code = 'no_run'"))
	i.awaitCount(t, time.Minute, 1, "SELECT count(*) FROM replays WHERE started_by = 'holdfast sweep'")
}

// The database was set back to before it stored an event, and the event's run is at a later step: it stores the event again under
// its ID, and processes it.
func TestARunStoresALostEventAgain(t *testing.T) {
	t.Parallel()
	i := newInstallation(t)
	n := i.start(t, "serve")
	release := i.lock(t, "entities")
	workflowID := i.awaitWaiting(t, n, someEvent())
	i.awaitCount(t, time.Minute, 1, persistedEvents)
	n.kill()
	release()
	var eventID string
	i.query(t, "SELECT id::text FROM events", nil, &eventID)
	i.exec(t, "DELETE FROM idempotency_keys")
	i.exec(t, "DELETE FROM events")

	i.start(t, "serve")
	i.awaitCount(t, 30*time.Second, 1, processedEvents+" AND id = $1", eventID)
	i.awaitStatus(t, workflowID, enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED)
	require.Equal(t, 1, i.count(t, "SELECT count(*) FROM events"))
	i.replay(t, "persisted_again", workflowID)
}
