package chaos

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/stretchr/testify/require"
)

// decided are the events that operators have decided about after the moment to which the database is set back.
type decided struct {
	// open was a dead letter before, and lost only after that. Both were discarded.
	open, lost message
	expunged   message
	// missing counts the processed events that the database no longer had.
	missing int
}

// The primary is lost with its disk, and its asynchronous standby hadn't received the last seconds. No command is run after
// that:
//   - every acknowledged event that Temporal has is processed again, under its event ID and webhook-id
//   - what operators had discarded or expunged isn't; dead letters that they may have decided about wait for them
//   - one audit entry and one alert report it
var asynchronousFailover = scenario{
	id: "F73", name: "asynchronous_standby_promoted", replicated: true, asynchronous: true, buries: true,
	environ: []string{"HOLDFAST_REPLAY_AUTOMATIC=true", "HOLDFAST_REPLAY_REJECTED=true"},
	fault: func(w *world) {
		w.prepareDecisions()
		w.awaitOnStandby(1, marked)
		w.awaitOnStandby(1, deadLetterOf, w.decided.open.workflowID())

		w.standby.set(w.t, map[string]string{"primary_conninfo": "''"})
		w.sleep(w.some(3*time.Second, 6*time.Second))
		w.decide()
		held := w.countOnStandby(processed)
		had, err := w.count(processed)
		require.NoError(w.t, err)
		w.decided.missing = had - held
		require.Positive(w.t, w.decided.missing, "the standby lacks nothing")

		w.sql.destroy(w.t)
		w.sleep(w.some(time.Second, outage))
		w.promote()
		w.awaitHealed()
	},
	after: func(w *world) {
		w.requireDecisionsKept()
		w.requireHealed()
	},
}

const (
	deadLetterOf = "SELECT count(*) FROM dead_letters WHERE workflow_id = $1"
	processed    = "SELECT count(*) FROM events WHERE status = 'processed'"
	// marked counts the marks that a sweep has left after at least one other.
	marked        = "SELECT count(*) FROM sweep_marks WHERE counter > 1"
	healedBySweep = "SELECT count(*) FROM audit_log WHERE action = 'reconcile' AND actor = 'holdfast sweep'"
)

// prepareDecisions makes an event a dead letter that operators will decide about.
func (w *world) prepareDecisions() {
	w.t.Helper()
	own := &maker{rng: rand.New(rand.NewPCG(*seed, 73)), run: "decided"}
	w.decided = decided{open: poison("evt_open"), lost: poison("evt_lost"), expunged: own.snapshot("evt_expunged", 1, time.Now())}
	w.accept(w.decided.open)
	w.awaitCount(settle, 1, deadLetterOf, w.decided.open.workflowID())
}

// awaitHealed waits until a sweep has restored what is missing, and that is processed.
func (w *world) awaitHealed() {
	w.t.Helper()
	w.awaitCount(settle, 1, healedBySweep)
	w.awaitCount(settle, 1, "SELECT count(*) FROM replays WHERE started_by = 'holdfast sweep' AND settled_at IS NOT NULL")
}

// accept sends a message that isn't in the ledger.
func (w *world) accept(m message) {
	w.t.Helper()
	status, body, err := m.post(context.Background(), w.load.client, w.ingresses[0].ingress, false)
	require.NoError(w.t, err)
	require.Less(w.t, status, http.StatusMultipleChoices, string(body))
}

// decide makes the decisions that will be lost.
func (w *world) decide() {
	w.accept(w.decided.lost)
	w.accept(w.decided.expunged)
	w.awaitCount(settle, 1, deadLetterOf, w.decided.lost.workflowID())
	w.awaitCount(settle, 1, processed+" AND workflow_id = $1", w.decided.expunged.workflowID())
	for _, m := range []message{w.decided.open, w.decided.lost} {
		id, err := w.count("SELECT id FROM dead_letters WHERE workflow_id = $1", m.workflowID())
		require.NoError(w.t, err)
		out, err := w.run("dlq", "discard", fmt.Sprint(id), "--reason", "INC-42")
		require.NoError(w.t, err, out)
	}
	out, err := w.run("purge", "--expunge", w.decided.expunged.workflowID(), "--reason", "INC-42")
	require.NoError(w.t, err, out)
}

// countOnStandby returns the number from a query of the standby.
func (w *world) countOnStandby(query string, args ...any) int {
	w.t.Helper()
	n, err := w.on(w.standby).count(query, args...)
	require.NoError(w.t, err)
	return n
}

// awaitOnStandby waits until the standby has received what a query counts.
func (w *world) awaitOnStandby(least int, query string, args ...any) {
	w.t.Helper()
	w.on(w.standby).awaitCount(settle, least, query, args...)
}

// requireDecisionsKept asserts that nothing undid a lost decision unasked.
func (w *world) requireDecisionsKept() {
	w.t.Helper()
	for _, m := range []message{w.decided.open, w.decided.lost} {
		n, err := w.count(deadLetterOf+" AND state = 'exhausted' AND failures = 1", m.workflowID())
		require.NoError(w.t, err)
		require.Equal(w.t, 1, n, "%s waits for an operator", m.workflowID())
	}
	const traces = "SELECT (SELECT count(*) FROM events WHERE workflow_id = $1) + (" + deadLetterOf + ")"
	n, err := w.count(traces, w.decided.expunged.workflowID())
	require.NoError(w.t, err)
	require.Zero(w.t, n, "the expunged event is back")
}

// requireHealed asserts that the restored events are processed, were delivered under one webhook-id each, and were reported
// once.
func (w *world) requireHealed() {
	w.t.Helper()
	restored, err := w.count("SELECT count(*) FROM dead_letters WHERE error_code = 'lost'")
	require.NoError(w.t, err)
	open, err := w.count("SELECT count(*) FROM dead_letters WHERE error_code = 'lost' AND state <> 'resolved'")
	require.NoError(w.t, err)
	require.Zero(w.t, open, "restored events aren't processed")
	require.GreaterOrEqual(w.t, restored, w.decided.missing-1, "the expunged event may be among the missing ones")
	w.t.Logf("%d processed events were missing, %d events were restored", w.decided.missing, restored)
	alerts, err := w.count("SELECT count(*) FROM error_log WHERE error_code = 'store_set_back'")
	require.NoError(w.t, err)
	require.Positive(w.t, alerts)
	w.receiver.requireOneID()
}
