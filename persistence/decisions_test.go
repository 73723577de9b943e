package persistence_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"holdfast/event"
	"holdfast/event/operation"
	"holdfast/event/oversight"
	"holdfast/event/retention"
	"holdfast/persistence/persistencetest"
)

// requireDecision asserts the error for an event with a decision.
func requireDecision(t testing.TB, err error, outcome event.Outcome, reason string) {
	t.Helper()
	var decision *event.DecisionError
	require.ErrorAs(t, err, &decision)
	require.Equal(t, outcome, decision.Decision.Outcome)
	require.Equal(t, "ada", decision.Decision.By)
	require.Equal(t, reason, decision.Decision.Reason)
	require.WithinDuration(t, time.Now(), decision.Decision.At, time.Minute)
}

// requireUntouchable tries an event in every way that a run has, and asserts that nothing changes.
func (d *database) requireUntouchable(r event.Receipt, outcome event.Outcome, reason string) {
	d.t.Helper()
	const all = `SELECT concat((SELECT string_agg(e::text, '' ORDER BY id) FROM events AS e),
       (SELECT string_agg(l::text, '' ORDER BY event_id, position) FROM event_entities AS l),
       (SELECT string_agg(e::text, '' ORDER BY kind, external_id) FROM entities AS e),
       (SELECT string_agg(d::text, '' ORDER BY id) FROM dead_letters AS d),
       (SELECT string_agg(k::text, '' ORDER BY provider, key) FROM idempotency_keys AS k))`
	before := value[string](d, all)
	ctx, run := d.t.Context(), anotherRun(r)
	for _, p := range []event.Parsed{parsed(snapshot("other", `{"n":1}`)), parsed(patch("1", `{"n":1}`)), parsed()} {
		_, err := d.Writer.Write(ctx, event.RowOnly, r, body, p, run)
		requireDecision(d.t, err, outcome, reason)
		requireDecision(d.t, d.UpsertEntities(ctx, r, p, run), outcome, reason)
		p.Outcome = event.OutcomeIgnored
		_, err = d.Writer.Write(ctx, event.RowOnly, r, body, p, run)
		requireDecision(d.t, err, outcome, reason)
	}
	_, err := d.Writer.Write(ctx, event.WholeEvent, r, body, parsed(snapshot("other", `{}`)), run)
	requireDecision(d.t, err, outcome, reason)
	requireDecision(d.t, d.DeadLetters.RecordDeadLetter(ctx, died(r, time.Now())), outcome, reason)
	require.Empty(d.t, d.unrecorded(r), "the sweep has no business with it")
	require.Equal(d.t, before, value[string](d, all))
}

func (d *database) unrecorded(r event.Receipt) []operation.ClosedRun {
	d.t.Helper()
	runs, err := d.DeadLetters.Unrecorded(d.t.Context(), []operation.ClosedRun{{Run: anotherRun(r), EventID: r.ID, Status: "terminated"}})
	require.NoError(d.t, err)
	return runs
}

// A discarded event stays discarded, however it is tried again: also once its dead letter and its key are removed. A redelivery
// is a duplicate of it, within the window.
func TestADiscardedEventStaysDiscarded(t *testing.T) {
	t.Parallel()
	for name, die := range map[string]func(*database, event.Receipt){
		"before it had a row": func(*database, event.Receipt) {},
		"stored": func(d *database, r event.Receipt) {
			_, err := d.Writer.Write(d.t.Context(), event.RowOnly, r, body, parsed(patch("1", `{"n":1}`)), runOf(r))
			require.NoError(d.t, err)
		},
		"processed, and dead since": func(d *database, r event.Receipt) { d.process(r, parsed(patch("1", `{"n":1}`))) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := open(t)
			r := receipt()
			die(db, r)
			db.record(died(r, time.Now().Add(time.Second)))
			require.NoError(t, db.DeadLetters.DiscardDeadLetter(t.Context(), db.deadLetterOf(r).ID, ada))
			db.requireUntouchable(r, event.OutcomeDiscarded, ada.Reason)

			again := r
			again.ID = receipt().ID
			persisted, err := db.Writer.Write(t.Context(), event.RowOnly, again, body, parsed(), runOf(again))
			require.NoError(t, err)
			require.Equal(t, event.Persisted{Duplicate: true, Owner: r.ID}, persisted)

			require.NoError(t, db.DeadLetters.DeleteDeadLetter(t.Context(), db.deadLetterOf(r).ID, ada))
			db.exec(`DELETE FROM idempotency_keys`)
			db.exec(`DELETE FROM events`)
			db.requireUntouchable(r, event.OutcomeDiscarded, ada.Reason)
		})
	}
}

// The bulk lane leaves an event with a decision to its own workflow, which reports the decision.
func TestABatchLeavesAnEventWithADecision(t *testing.T) {
	t.Parallel()
	for name, keep := range map[string]string{"with its key": `SELECT 1`, "without": `DELETE FROM idempotency_keys`} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := open(t)
			r, id := db.shared().Letter()
			require.NoError(t, db.DeadLetters.DiscardDeadLetter(t.Context(), id, ada))
			db.exec(keep)
			other := db.bulk(receipt())
			db.bulk(r)
			require.Equal(t, map[string]event.Outcome{r.ID: event.OutcomeLeft, other.ID: event.OutcomeProcessed},
				outcomes(db.batch(newBatchRun(), nil)))
			require.Equal(t, 1, value[int](db, `SELECT count(*) FROM events`))
		})
	}
}

// What a discarded event had done to entities is undone at once, and later folds don't restore it.
func TestADiscardedEventHasNoEffect(t *testing.T) {
	t.Parallel()
	db := open(t)
	at := func(minutes int, changes ...event.Change) event.Parsed {
		p := parsed(changes...)
		p.OccurredAt = noon.Add(time.Duration(minutes) * time.Minute)
		return p
	}
	db.process(receipt(), at(0, patch("1", `{"a":1}`)))
	r := receipt()
	db.process(r, at(10, patch("1", `{"b":2}`), snapshot("2", `{"c":3}`)))
	db.record(died(r, time.Now().Add(time.Second))) // it was reset, and failed
	db.requireStates(map[string]string{"1": `{"a":1,"b":2}`, "2": `{"c":3}`})

	require.NoError(t, db.DeadLetters.DiscardDeadLetter(t.Context(), db.deadLetterOf(r).ID, ada))
	db.requireStates(map[string]string{"1": `{"a":1}`})
	_, err := db.Read.Entity(t.Context(), thing("2"))
	require.ErrorIs(t, err, event.ErrNotFound)
	require.Zero(t, value[int](db, `SELECT count(*) FROM event_entities WHERE event_id = $1`, r.ID))
	var detail struct{ Changes, Entities int }
	require.NoError(t, json.Unmarshal(db.audit()[0].Detail, &detail))
	require.Equal(t, struct{ Changes, Entities int }{2, 2}, detail)

	db.process(receipt(), at(5, patch("1", `{"d":4}`)))
	db.requireStates(map[string]string{"1": `{"a":1,"d":4}`})
	was, err := db.Entities.EntityAsOf(t.Context(), thing("1"), noon.Add(time.Hour))
	require.NoError(t, err)
	require.JSONEq(t, `{"a":1,"d":4}`, string(was.State))
}

// Of an event and its edit one counts: the original is replaced, however it is tried again.
func TestAReplacedEventStaysReplaced(t *testing.T) {
	t.Parallel()
	db := open(t)
	r, id := db.shared().Letter()
	edit, err := db.DeadLetters.EditDeadLetter(t.Context(), operation.Edit{DeadLetter: id, EventID: receipt().ID, Body: body}, ada)
	require.NoError(t, err)
	db.requireUntouchable(r, event.OutcomeReplaced, ada.Reason)
	_, err = db.Writer.Write(t.Context(), event.RowOnly, r, body, parsed(), runOf(r))
	require.ErrorContains(t, err, "its replacement is event "+edit.Receipt.ID)
	db.shared().ProcessAgain(edit.Receipt)
	require.Equal(t, event.StatusProcessed, db.status(edit.Receipt.ID))
}

// Reopening is the only way back, and on record: the event is then processed like any other.
func TestAReopenedEventIsProcessed(t *testing.T) {
	t.Parallel()
	db := open(t)
	r, id := db.shared().Letter()
	persistencetest.RequireState(t, db.DeadLetters.ReopenDeadLetter(t.Context(), id, ada), event.DeadLetterOpen)
	require.NoError(t, db.DeadLetters.DiscardDeadLetter(t.Context(), id, ada))
	require.NoError(t, db.DeadLetters.ReopenDeadLetter(t.Context(), id, ada))
	require.Equal(t, []oversight.AuditAction{"dead_letter.reopen", "dead_letter.discard"},
		[]oversight.AuditAction{db.audit()[0].Action, db.audit()[1].Action})
	got := db.deadLetterOf(r)
	require.Equal(t, event.DeadLetterOpen, got.State)
	require.Empty(t, got.DiscardedBy)
	db.process(r, parsed(snapshot("1", `{"n":1}`)))
	require.Equal(t, event.DeadLetterResolved, db.deadLetterOf(r).State)
	db.requireStates(map[string]string{"1": `{"n":1}`})
	persistencetest.RequireState(t, db.DeadLetters.ReopenDeadLetter(t.Context(), id, ada), event.DeadLetterResolved)
}

// Of an event, its edit and the edit of that only one counts, in whatever order they are discarded and reopened.
func TestOfAnEventAndItsEditsOneCounts(t *testing.T) {
	t.Parallel()
	db := open(t)
	_, first := db.shared().Letter()
	edit := func(id int64) int64 {
		d, err := db.DeadLetters.EditDeadLetter(t.Context(), operation.Edit{DeadLetter: id, EventID: receipt().ID, Body: body}, ada)
		require.NoError(t, err)
		require.NoError(t, db.DeadLetters.Release(t.Context(), "", d.ID))
		return d.ID
	}
	second := edit(first)
	persistencetest.RequireState(t, db.DeadLetters.ReopenDeadLetter(t.Context(), first, ada), event.DeadLetterDiscarded)
	third := edit(second)
	persistencetest.RequireState(t, db.DeadLetters.ReopenDeadLetter(t.Context(), first, ada), event.DeadLetterDiscarded)

	require.NoError(t, db.DeadLetters.DiscardDeadLetter(t.Context(), third, ada))
	require.NoError(t, db.DeadLetters.ReopenDeadLetter(t.Context(), third, ada), "its original is still replaced by it")
	require.NoError(t, db.DeadLetters.DiscardDeadLetter(t.Context(), third, ada))
	require.NoError(t, db.DeadLetters.ReopenDeadLetter(t.Context(), second, ada))
	persistencetest.RequireState(t, db.DeadLetters.ReopenDeadLetter(t.Context(), third, ada), event.DeadLetterDiscarded)
	require.NoError(t, db.DeadLetters.DiscardDeadLetter(t.Context(), second, ada))

	var group errgroup.Group
	for _, id := range []int64{first, second, third} {
		group.Go(func() error { _ = db.DeadLetters.ReopenDeadLetter(t.Context(), id, ada); return nil })
	}
	require.NoError(t, group.Wait())
	require.Equal(t, 1, value[int](db, `SELECT count(*) FROM dead_letters WHERE state = 'open'`))
	require.Equal(t, 2, value[int](db, `SELECT count(*) FROM decisions`))
}

// A discard runs concurrently with a run that processes the event: one of them is first, and the other detects it.
func TestADiscardAndARunAtOnce(t *testing.T) {
	t.Parallel()
	db := open(t)
	for n := range 30 {
		r, id := db.shared().Letter()
		entity := fmt.Sprint("raced-", n)
		var discard, process error
		var group errgroup.Group
		group.Go(func() error { discard = db.DeadLetters.DiscardDeadLetter(t.Context(), id, ada); return nil })
		group.Go(func() error {
			p := parsed(snapshot(entity, `{"n":1}`))
			if _, process = db.Writer.Write(t.Context(), event.RowOnly, r, body, p, runOf(r)); process == nil {
				process = db.UpsertEntities(t.Context(), r, p, runOf(r))
			}
			return nil
		})
		require.NoError(t, group.Wait())
		links := value[int](db, `SELECT count(*) FROM event_entities WHERE event_id = $1`, r.ID)
		if discard == nil {
			requireDecision(t, process, event.OutcomeDiscarded, ada.Reason)
			require.Zero(t, links)
		} else {
			persistencetest.RequireState(t, discard, event.DeadLetterResolved)
			require.NoError(t, process)
			require.Equal(t, 1, links)
		}
	}
}

// An expunged event stays known: to later attempts, and to a second expunge, which removes what was received since. Both are on
// record with what they have removed.
func TestAnExpungeIsOnRecord(t *testing.T) {
	t.Parallel()
	db := open(t)
	r := receipt()
	db.process(r, parsed(snapshot("1", `{"n":1}`)))
	db.record(died(r, time.Now().Add(time.Second)))
	require.NoError(t, db.Errors.LogErrors(t.Context(), []oversight.ErrorEntry{{At: noon, Code: "x", EventID: r.ID}}))
	last := func() (e retention.Expunged) {
		require.NoError(t, json.Unmarshal(db.audit()[0].Detail, &e))
		return e
	}
	gone, err := db.Upkeep.Expunge(t.Context(), r.ID, 3, ada)
	require.NoError(t, err)
	require.Equal(t, retention.Expunged{EventID: r.ID, Provider: "acme", WorkflowIDs: []string{r.WorkflowID()}, Events: 1,
		DeadLetters: 1, Changes: 1, Errors: 1, Entities: 1, Runs: 3}, gone)
	require.Equal(t, gone, last())
	db.requireUntouchable(r, event.OutcomeExpunged, ada.Reason)

	require.NoError(t, db.Errors.LogErrors(t.Context(), []oversight.ErrorEntry{{At: noon, Code: "x", EventID: r.ID}}))
	gone, err = db.Upkeep.Expunge(t.Context(), r.ID, 0, oversight.Actor{Name: "eve", Reason: "again"})
	require.NoError(t, err)
	require.NotNil(t, gone.Earlier)
	require.Equal(t, "ada", gone.Earlier.By)
	require.EqualValues(t, 1, gone.Errors)
	require.Zero(t, gone.Events)
	require.Equal(t, gone, last())
	db.requireUntouchable(r, event.OutcomeExpunged, ada.Reason)

	_, err = db.Upkeep.Expunge(t.Context(), receipt().ID, 0, ada)
	require.ErrorIs(t, err, event.ErrNotFound)
}
