package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"

	"holdfast/activities/reconcile"
	"holdfast/workflows"
)

// PostgreSQL is restored from a backup, and Temporal continues. The database has lost an event that was processed since, one
// that died, and the rescue of one that had died before:
//   - doctor reports it, and a dry run counts it and changes nothing
//   - a redelivery of the processed event is answered as a duplicate, because Temporal has it
//   - reconcile creates dead letters from their runs, and a replay restores what was processed, entities included
//   - then nothing is missing, and doctor finds no problems
func TestAnOlderDatabaseIsReconciledWithANewerTemporal(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "homemade.yaml")
	require.NoError(t, os.WriteFile(file, []byte(definitionOf("json")), 0o644))
	i := newInstallation(t, "HOLDFAST_PROVIDERS_DIR="+dir)
	i.pauseSweeps(t)
	n := i.start(t, "serve")
	before := i.sendPoison(t, n)
	i.awaitStatus(t, before, enumspb.WORKFLOW_EXECUTION_STATUS_FAILED)
	n.terminate(t)
	i.backUp(t)
	since := time.Now()

	n = i.start(t, "serve")
	lost, died := someEvent(), i.sendPoison(t, n)
	sent := n.send(t, lost)
	require.Equal(t, "accepted", sent.state(), string(sent.body))
	processed := sent.Events[0].WorkflowID
	i.awaitStatus(t, processed, enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED)
	i.awaitStatus(t, died, enumspb.WORKFLOW_EXECUTION_STATUS_FAILED)
	n.terminate(t)
	require.NoError(t, os.WriteFile(file, []byte(definitionOf("text")), 0o644))
	n = i.start(t, "serve")
	letter := i.count(t, "SELECT id FROM dead_letters WHERE workflow_id = $1", before)
	out, err := i.run(t, "dlq", "replay", fmt.Sprint(letter), "--wait")
	require.NoError(t, err, out)
	i.awaitRuns(t, before, 2)
	entities := i.entities(t)
	n.terminate(t)

	i.restore(t)
	n = i.start(t, "serve")
	require.Empty(t, i.entities(t))
	n.awaitProcessed(t, lost)
	i.requireAgreement(t, "fail")
	i.awaitFound(t, since, reconcile.RunWithoutRow, 3, processed, died, before)
	require.Equal(t, 1, i.count(t, "SELECT count(*) FROM dead_letters"), "a dry run records nothing")

	out, err = i.run(t, "reconcile", "--since", since.Format(time.RFC3339Nano), "--yes", "--reason", "INC-42")
	require.NoError(t, err, out)
	require.Equal(t, 1, i.count(t, openDeadLetters+" AND workflow_id = $1 AND error_code = 'lost' AND failures = 2", before))
	require.Equal(t, 1, i.count(t, openDeadLetters+" AND workflow_id = $1 AND error_code = 'malformed_json' AND step = 'parse'", died))
	require.Equal(t, 1, i.count(t, "SELECT count(*) FROM audit_log WHERE action = 'reconcile' AND reason = 'INC-42'"))
	out, err = i.run(t, "dlq", "replay", "--step", "run", "--code", "lost", "--yes")
	require.NoError(t, err, out)
	i.awaitCount(t, time.Minute, 2, processedEvents)
	require.Equal(t, entities, i.entities(t))
	require.Equal(t, 1, i.count(t, openDeadLetters))
	i.awaitFound(t, since, reconcile.RunWithoutRow, 0)
	i.requireAgreement(t, "ok")
}

// Temporal is restored from a backup, and PostgreSQL continues. Temporal has lost an event that was processed, one that is
// stored and waits for a table, and one that has died; and one that was processed since waits for that table again:
//   - the remaining runs end automatically, without further effects
//   - a dead letter is replayed as usual, and a redelivery of a processed event is a duplicate
//   - stored but unprocessed events are found by reconcile, and processed by a replay
func TestAnOlderTemporalIsReconciledWithANewerDatabase(t *testing.T) {
	t.Parallel()
	i, alone := aloneWithTemporal(t)
	i.env = patience
	i.pauseSweeps(t)
	n := i.start(t, "serve")
	release := i.lock(t, "entities")
	waiting := i.awaitWaiting(t, n, someEvent())
	i.awaitCount(t, time.Minute, 1, "SELECT count(*) FROM events WHERE status = 'persisted'")
	n.terminate(t)
	require.NoError(t, alone.Stop())
	backup := t.TempDir()
	require.NoError(t, os.CopyFS(backup, os.DirFS(alone.Dir())))
	since := time.Now()
	release()
	require.NoError(t, alone.Start())

	n = i.start(t, "serve")
	i.awaitStatus(t, waiting, enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED)
	forgotten := someEvent()
	require.Equal(t, "accepted", n.send(t, forgotten).state())
	i.awaitCount(t, time.Minute, 2, processedEvents)
	a := n.sendStandard(t, "/webhooks/standard-webhooks", uniqueID("msg"), []byte(poison))
	i.awaitStatus(t, a.Events[0].WorkflowID, enumspb.WORKFLOW_EXECUTION_STATUS_FAILED)
	release = i.lock(t, "entities")
	stuck := i.awaitWaiting(t, n, someEvent())
	i.awaitCount(t, time.Minute, 1, "SELECT count(*) FROM events WHERE status = 'persisted'")
	n.kill()
	require.NoError(t, alone.Stop())
	release()
	restoreFiles(t, alone.Dir(), backup)
	require.NoError(t, alone.Start())

	n = i.start(t, "serve")
	i.awaitStatus(t, waiting, enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED)
	require.Equal(t, "accepted", n.send(t, forgotten).state())
	i.awaitFound(t, since, reconcile.RowWithoutRun, 1, stuck)
	out, err := i.run(t, "reconcile", "--since", since.Format(time.RFC3339Nano), "--yes")
	require.NoError(t, err, out)
	out, err = i.run(t, "dlq", "replay", "--code", "no_run", "--yes")
	require.NoError(t, err, out)
	out, err = i.run(t, "dlq", "replay", "--code", "malformed_json", "--yes")
	require.Error(t, err, out) // it fails again
	i.awaitCount(t, time.Minute, 3, processedEvents)
	require.Equal(t, 3, i.count(t, "SELECT count(*) FROM events"))
	require.Equal(t, 1, i.count(t, openDeadLetters+" AND error_code = 'malformed_json' AND failures = 2"))
	i.awaitFound(t, since, reconcile.RowWithoutRun, 0)
}

// A processed event has lost its key, which would identify a redelivery:
//   - reconcile restores it, and finds nothing else
func TestAKeyIsGivenBack(t *testing.T) {
	t.Parallel()
	i := newInstallation(t)
	n := i.start(t, "serve")
	since := time.Now().Add(-time.Minute)
	a := n.send(t, someEvent())
	i.awaitCount(t, time.Minute, 1, processedEvents)
	const keys = "SELECT count(*) FROM idempotency_keys"
	i.exec(t, "DELETE FROM idempotency_keys")
	i.awaitFound(t, since, reconcile.RowWithoutKey, 1, a.Events[0].WorkflowID)
	require.Zero(t, i.count(t, keys))
	out, err := i.run(t, "reconcile", "--since", since.Format(time.RFC3339Nano), "--yes")
	require.NoError(t, err, out)
	require.Equal(t, 1, i.count(t, keys+" WHERE event_id = $1", a.Events[0].EventID))
	i.awaitFound(t, since, reconcile.RowWithoutKey, 0)
}

// pauseSweeps leaves repairs to the test's commands: a sweep would make them itself.
func (i *installation) pauseSweeps(t *testing.T) {
	t.Helper()
	i.runTool(t, "temporal", "schedule", "toggle", "--schedule-id", workflows.ScheduleSweep, "--pause", "--reason", "test")
}

// awaitFound waits until a dry run finds this many of a kind, and nothing else: Temporal's list of runs lags behind.
func (i *installation) awaitFound(t *testing.T, since time.Time, kind reconcile.Kind, want int, workflowIDs ...string) {
	t.Helper()
	eventually(t, 30*time.Second, fmt.Sprintf("%d of %s are found", want, kind), func() error {
		out, err := i.run(t, "reconcile", "--since", since.Format(time.RFC3339Nano), "--dry-run", "--json")
		if err != nil {
			return errors.New(out)
		}
		var r reconcile.Comparison
		if err := json.Unmarshal([]byte(out), &r); err != nil {
			return err
		}
		for _, f := range r.Findings {
			if f.Kind == kind && f.Count != want || f.Kind != kind && f.Count != 0 {
				return errors.New(out)
			}
		}
		require.ElementsMatch(t, workflowIDs, r.Finding(kind).Examples)
		return nil
	})
}

// requireAgreement asserts doctor's result for the last ended runs.
func (i *installation) requireAgreement(t *testing.T, result string) {
	t.Helper()
	eventually(t, 30*time.Second, "agreement: "+result, func() error {
		out, _ := i.run(t, "doctor", "--json") // it fails if any check does
		var report struct {
			Findings []struct{ Check, Result, Detail string }
		}
		if err := json.NewDecoder(strings.NewReader(out)).Decode(&report); err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
		for _, f := range report.Findings {
			if f.Check == "agreement" && f.Result == result {
				return nil
			}
		}
		return errors.New(out)
	})
}

// entities returns the states of all entities, by name.
func (i *installation) entities(t *testing.T) map[string]string {
	t.Helper()
	connection, err := pgx.Connect(context.Background(), i.database)
	require.NoError(t, err)
	defer connection.Close(context.Background())
	rows, err := connection.Query(context.Background(), "SELECT provider || '/' || kind || '/' || external_id, state::text FROM entities")
	require.NoError(t, err)
	states, name, state := map[string]string{}, "", ""
	_, err = pgx.ForEachRow(rows, []any{&name, &state}, func() error { states[name] = state; return nil })
	require.NoError(t, err)
	return states
}

// restoreFiles replaces the files of a stopped server with a backup's.
func restoreFiles(t *testing.T, dir, backup string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	require.NoError(t, err)
	for _, file := range files {
		require.NoError(t, os.RemoveAll(file))
	}
	require.NoError(t, os.CopyFS(dir, os.DirFS(backup)))
}

// backUp copies the database's files. No client may be connected.
func (i *installation) backUp(t *testing.T) {
	t.Helper()
	i.reading.close()
	name := i.databaseName(t)
	administer(t, "CREATE DATABASE "+name+"_backup TEMPLATE "+name)
	t.Cleanup(func() { administer(t, "DROP DATABASE "+name+"_backup") })
}

// restore replaces the database with the backup.
func (i *installation) restore(t *testing.T) {
	t.Helper()
	name := i.databaseName(t)
	administer(t, "DROP DATABASE "+name+" WITH (FORCE)")
	administer(t, "CREATE DATABASE "+name+" TEMPLATE "+name+"_backup")
}

func (i *installation) databaseName(t *testing.T) string {
	t.Helper()
	config, err := pgx.ParseConfig(i.database)
	require.NoError(t, err)
	return config.Database
}

func administer(t *testing.T, sql string) {
	t.Helper()
	connection, err := pgx.Connect(context.Background(), cluster.URL("postgres"))
	require.NoError(t, err)
	defer connection.Close(context.Background())
	eventually(t, 30*time.Second, sql, func() error { // the server may not have noticed all disconnections yet
		_, err := connection.Exec(context.Background(), sql)
		return err
	})
}
