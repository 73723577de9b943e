package persistence_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/event"
	"holdfast/event/operation"
)

var automatic = operation.AutomaticReplay{
	ReplayPolicy: operation.ReplayPolicy{Base: time.Hour, Attempts: 2, Classes: []event.Class{event.ClassFailed}},
	Own: map[string]operation.ReplayPolicy{
		"quiet": {Base: time.Hour, Attempts: 2},
		"hasty": {Base: time.Minute, Attempts: 1, Classes: []event.Class{event.ClassRejected, event.ClassTransient}},
	},
	Rate: 10,
}

func failedNow(d *event.DeadLetter) { d.Failure.Class, d.Failure.At = event.ClassFailed, time.Now() }

func (d *database) due() (ids []int64) {
	d.t.Helper()
	_, _, err := d.DeadLetters.PlanAutomaticReplay(d.t.Context(), automatic)
	require.NoError(d.t, err)
	page, err := d.DeadLetters.ClaimDue(d.t.Context(), "run-of-the-schedule", automatic, 10, 1000)
	require.NoError(d.t, err)
	for _, letter := range page.DeadLetters {
		ids = append(ids, letter.ID)
	}
	require.Equal(d.t, len(ids) == 0, page.Drained)
	return ids
}

// later simulates that time has passed for all dead letters.
func (d *database) later(by time.Duration) {
	d.exec(`UPDATE dead_letters SET next_replay_at = next_replay_at - $1::interval`, by)
}

// The automatic attempts of a dead letter:
//   - the first comes an hour after the failure, the second two hours after the next one, ± 20 %
//   - after the second it is exhausted, and a manual replay restarts them
func TestAutomaticAttemptsDoubleAndEnd(t *testing.T) {
	t.Parallel()
	db := open(t)
	r := db.bury(1, failedNow)[0]
	id := db.deadLetterOf(r).ID
	pause := func() float64 {
		require.Empty(t, db.due())
		return value[float64](db, `SELECT extract(epoch FROM next_replay_at - last_failed_at)::float8 FROM dead_letters`)
	}
	for attempt, want := range []float64{3600, 7200} {
		require.InEpsilon(t, want, pause(), 0.2)
		db.later(3 * time.Hour)
		require.Equal(t, []int64{id}, db.due())
		require.Empty(t, db.due(), "it is taken")
		require.Equal(t, attempt+1, value[int](db, `SELECT auto_attempts FROM dead_letters`))
		again := deadLetter(r)
		failedNow(&again)
		again.Run = anotherRun(r)
		db.record(again)
	}
	require.Empty(t, db.due())
	require.Equal(t, event.DeadLetterExhausted, db.deadLetterOf(r).State)

	db.take(id)
	require.Zero(t, value[int](db, `SELECT auto_attempts FROM dead_letters`))
	again := deadLetter(r)
	failedNow(&again)
	again.Run = anotherRun(r)
	db.record(again)
	require.InEpsilon(t, 3600, pause(), 0.2)
}

// A provider with its own policy has its own base, attempts and classes; the others keep theirs.
func TestAProviderHasItsOwnAutomaticReplay(t *testing.T) {
	t.Parallel()
	db := open(t)
	of := func(provider string, class event.Class) event.DeadLetter {
		return db.deadLetterOf(db.bury(1, failedNow, func(d *event.DeadLetter) {
			d.Receipt.Provider, d.Failure.Class = provider, class
		})[0])
	}
	hasty, another := of("hasty", event.ClassRejected), of("acme", event.ClassFailed)
	of("hasty", event.ClassFailed)
	of("acme", event.ClassRejected)
	pause := func(d event.DeadLetter) float64 {
		return value[float64](db, `SELECT extract(epoch FROM next_replay_at - last_failed_at)::float8 FROM dead_letters WHERE id = $1`, d.ID)
	}
	require.Empty(t, db.due())
	require.InEpsilon(t, 60, pause(hasty), 0.2)
	require.InEpsilon(t, 3600, pause(another), 0.2)
	require.Equal(t, 2, value[int](db, `SELECT count(*) FROM dead_letters WHERE next_replay_at IS NULL`))

	db.later(3 * time.Minute)
	require.Equal(t, []int64{hasty.ID}, db.due())
	hasty.Run = anotherRun(hasty.Receipt)
	db.record(hasty)
	require.Empty(t, db.due())
	require.Equal(t, event.DeadLetterExhausted, db.deadLetterOf(hasty.Receipt).State, "it had its one attempt")
	require.Equal(t, event.DeadLetterOpen, db.deadLetterOf(another.Receipt).State)
}

// An imported dead letter may belong to a system that still runs, and no subscription is active yet. It waits until an operator
// reruns it, and is replayed like any other from then on.
func TestAnImportedDeadLetterWaitsForAnOperator(t *testing.T) {
	t.Parallel()
	db := open(t)
	m := newMover(db, 10)
	letter := m.letter("open", noon.Add(-time.Hour), []byte("unreadable"), false)
	m.bring(letter)
	require.Empty(t, db.due())
	require.Zero(t, value[int](db, `SELECT count(*) FROM dead_letters WHERE next_replay_at IS NOT NULL`))

	d := db.deadLetterOf(letter.Receipt)
	db.take(d.ID)
	failed := deadLetter(d.Receipt)
	failedNow(&failed)
	failed.Run = anotherRun(d.Receipt)
	db.record(failed)
	require.Empty(t, db.due())
	db.later(3 * time.Hour)
	require.Equal(t, []int64{d.ID}, db.due())
}

// What is left to the operators:
//   - rejected events, providers whose policy excludes them, and dead letters of a bulk replay
func TestSomeAreNotReplayedAutomatically(t *testing.T) {
	t.Parallel()
	db := open(t)
	db.bury(1, failedNow, func(d *event.DeadLetter) { d.Failure.Class = event.ClassRejected })
	db.bury(1, failedNow, func(d *event.DeadLetter) { d.Receipt.Provider = "quiet" })
	owned := db.bury(1, failedNow)[0]
	db.createReplay("one", operation.ReplayFilter{Provider: "acme", Class: event.ClassFailed})
	require.Len(t, db.takeAll("one", 5), 1)
	again := deadLetter(owned)
	failedNow(&again)
	again.Run = anotherRun(owned)
	db.record(again)

	require.Empty(t, db.due())
	db.later(24 * time.Hour)
	require.Empty(t, db.due(), "the bulk replay has not ended")
	_, settled, err := db.Replays.Settle(t.Context(), "one")
	require.NoError(t, err)
	require.True(t, settled)
	require.Len(t, db.due(), 1)
	require.Equal(t, 2, value[int](db, `SELECT count(*) FROM dead_letters WHERE next_replay_at IS NULL AND state = 'open'`))
}

// An operator has ended the runs of two events, one of which had failed before: no schedule reruns them, not even if an earlier
// release has planned it.
func TestRunsEndedByAnOperatorAreNotReplayedAutomatically(t *testing.T) {
	t.Parallel()
	db := open(t)
	stopped := db.bury(1, failedNow)[0]
	db.bury(1, failedNow, func(d *event.DeadLetter) { d.Failure.Code = event.CodeTerminated })
	require.Empty(t, db.due())
	db.later(3 * time.Hour)
	canceled := deadLetter(stopped)
	failedNow(&canceled)
	canceled.Run, canceled.Failure.Code = anotherRun(stopped), event.CodeCanceled
	require.Len(t, db.due(), 1)
	db.record(canceled)
	db.exec(`UPDATE dead_letters SET next_replay_at = now() - interval '1 h' WHERE error_code = 'terminated'`)
	require.Empty(t, db.due(), "not even what an earlier release has planned")
	require.Equal(t, event.DeadLetterOpen, db.deadLetterOf(stopped).State)
}
