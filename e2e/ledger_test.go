package e2e

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/event"
	"holdfast/event/operation"
	"holdfast/internal/devstack/program"
	"holdfast/internal/ledger"
)

// The events of a load are checked against its ledger, immediately and later. A row that is missing by then is reported.
func TestALedgerReportsLostEvents(t *testing.T) {
	t.Parallel()
	i := newInstallation(t)
	n := i.start(t, "serve")
	file := filepath.Join(t.TempDir(), "ledger")
	out, err := i.bench(t, "load", "stripe:customer.updated=3", "stripe:payment_intent.succeeded", "--url", n.ingress,
		"--count", "150", "--connections", "8", "--duplicates", "20%", "--bad-signatures", "10%", "--entities", "5",
		"--spread", "30s", "--seed", "7", "--ledger", file)
	require.NoError(t, err, out)
	for _, line := range []string{
		`requests +150 in .*`, `latency +p50 .* p99\.9 .*`, `ack → processed +p50 .*`, `lost +0 +ok .*`, `fold +0 +ok .*`,
	} {
		require.Regexp(t, `(?m)^ *`+line, out)
	}

	out, err = i.bench(t, "verify-ledger", file, "--settle", "30s")
	require.NoError(t, err, out)
	require.Regexp(t, `(?m)^undead +0 +ok`, out)

	l, err := ledger.ReadFile(file)
	require.NoError(t, err)
	gone := firstAcknowledged(t, l)
	require.Equal(t, 1, i.count(t, `WITH gone AS (DELETE FROM events WHERE provider = 'stripe' AND key = $1 RETURNING id)
	                                SELECT count(*) FROM gone`, gone.Key))
	out, err = i.bench(t, "verify-ledger", file)
	require.Error(t, err)
	require.Regexp(t, `(?m)^lost +1 +BROKEN .*stripe:`+gone.Key, out)

	out, err = i.bench(t, "verify-ledger", file, "--json", "--without-temporal")
	require.Error(t, err)
	var report ledger.Report
	require.NoError(t, json.NewDecoder(strings.NewReader(out)).Decode(&report), out)
	require.Equal(t, []string{gone.WorkflowID()}, report.Finding(ledger.Lost).Examples)
}

// A load whose events all die has measured nothing useful: the ledger's invariants hold, but the command fails.
func TestALoadOfDeadLettersFails(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	samples := "samples:\n  note: {headers: {webhook-id: 'msg_{id}'}, body: '\"no JSON \\(.id)\"'}\n"
	require.NoError(t, os.WriteFile(filepath.Join(dir, "homemade.yaml"), []byte(definitionOf("json")+samples), 0o600))
	i := newInstallation(t, "HOLDFAST_PROVIDERS_DIR="+dir)
	n := i.start(t, "serve")
	command := exec.Command(benchProgram(t), "load", "homemade", "--url", n.ingress, "--count", "20",
		"--connections", "2", "--settle", "3m", "--json")
	command.Env = i.environment()
	out, err := command.Output()
	var failed *exec.ExitError
	require.ErrorAs(t, err, &failed)
	require.Equal(t, 1, failed.ExitCode())
	require.Contains(t, string(failed.Stderr), "acknowledged events are dead letters: see `holdfast dlq list`")
	var result struct{ Check ledger.Report }
	require.NoError(t, json.Unmarshal(out, &result), string(out))
	require.Positive(t, result.Check.Dead)
	require.Equal(t, result.Check.Acknowledged, result.Check.Dead)
	require.True(t, result.Check.Holds())

	command = exec.Command(holdfast, "dlq", "replay", "--all", "--yes", "--json", "--detach")
	command.Env = i.environment()
	out, err = command.Output()
	require.NoError(t, err)
	var started operation.Replay
	require.NoError(t, json.Unmarshal(out, &started), string(out))
	require.Positive(t, started.Total)
	require.NotEmpty(t, started.ID)
}

// Temporal must agree: an acknowledged event has a workflow, and a failed run a dead letter.
func TestALedgerReportsMissingRuns(t *testing.T) {
	t.Parallel()
	i, workflowID := poisoned(t)
	buried := ledger.Event{Provider: "homemade"}
	_, buried.Key, _ = event.SplitWorkflowID(workflowID)
	i.awaitListed(t, 1)
	never := ledger.Event{Provider: "stripe", Key: uniqueID("evt")}
	file := filepath.Join(t.TempDir(), "ledger")
	w, err := ledger.Open(file, ledger.Run{ID: "byhand"})
	require.NoError(t, err)
	require.NoError(t, w.Sending(1, time.Now(), ledger.KindEvent, []ledger.Event{buried, never}))
	require.NoError(t, w.Answered(1, 202, time.Millisecond))
	require.NoError(t, w.Close())
	require.Equal(t, 1, i.count(t, `WITH gone AS (DELETE FROM dead_letters RETURNING id) SELECT count(*) FROM gone`))

	out, err := i.bench(t, "verify-ledger", file)
	require.Error(t, err)
	require.Regexp(t, `(?m)^lost +2 +BROKEN`, out)
	require.Regexp(t, `(?m)^running +0 +ok`, out)
	require.Regexp(t, `(?m)^no_workflow +1 +BROKEN .*`+never.WorkflowID(), out)
	require.Regexp(t, `(?m)^undead +1 +BROKEN .*`+buried.WorkflowID(), out)
}

// benchProgram builds holdfast-bench next to holdfast when a test first needs it.
func benchProgram(t *testing.T) string {
	t.Helper()
	path, err := builtBench()
	require.NoError(t, err)
	return path
}

var builtBench = sync.OnceValues(func() (string, error) {
	path := filepath.Join(filepath.Dir(holdfast), "holdfast-bench")
	return path, program.BuildBench(context.Background(), root, path)
})

func (i *installation) bench(t *testing.T, args ...string) (string, error) {
	t.Helper()
	command := exec.Command(benchProgram(t), args...)
	command.Env = i.environment()
	out, err := command.CombinedOutput()
	return string(out), err
}

func firstAcknowledged(t *testing.T, l ledger.Ledger) ledger.Event {
	t.Helper()
	for _, e := range l.Entries {
		if e.Outcome() == ledger.OutcomeOK {
			return e.Event
		}
	}
	require.FailNow(t, "nothing was acknowledged")
	return ledger.Event{}
}
