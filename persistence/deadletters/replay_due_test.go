package deadletters_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/event"
	"holdfast/event/operation"
	"holdfast/persistence/persistencetest"
)

func failedNow(d *event.DeadLetter) { d.Failure.Class, d.Failure.At = event.ClassFailed, time.Now() }

// The automatic attempts of a dead letter:
//   - the first comes an hour after the failure, the second two hours after the next one, ± 20 %
//   - after the second it is exhausted, and a manual replay restarts them
func TestAutomaticAttemptsDoubleAndEnd(t *testing.T) {
	t.Parallel()
	db := persistencetest.Open(t)
	r := db.Bury(1, failedNow)[0]
	id := db.DeadLetterOf(r).ID
	pause := func() float64 {
		require.Empty(t, db.Due())
		return persistencetest.Value[float64](db, `SELECT extract(epoch FROM next_replay_at - last_failed_at)::float8 FROM dead_letters`)
	}
	for attempt, want := range []float64{3600, 7200} {
		require.InEpsilon(t, want, pause(), 0.2)
		db.ReplayLater(3 * time.Hour)
		require.Equal(t, []int64{id}, db.Due())
		require.Empty(t, db.Due(), "it is taken")
		require.Equal(t, attempt+1, persistencetest.Value[int](db, `SELECT auto_attempts FROM dead_letters`))
		again := deadLetter(r)
		failedNow(&again)
		again.Run = anotherRun(r)
		db.Record(again)
	}
	require.Empty(t, db.Due())
	require.Equal(t, event.DeadLetterExhausted, db.DeadLetterOf(r).State)

	require.NoError(t, db.Claim(id))
	require.Zero(t, persistencetest.Value[int](db, `SELECT auto_attempts FROM dead_letters`))
	again := deadLetter(r)
	failedNow(&again)
	again.Run = anotherRun(r)
	db.Record(again)
	require.InEpsilon(t, 3600, pause(), 0.2)
}

// A provider with its own policy has its own base, attempts and classes; the others keep theirs.
func TestAProviderHasItsOwnAutomaticReplay(t *testing.T) {
	t.Parallel()
	db := persistencetest.Open(t)
	of := func(provider string, class event.Class) event.DeadLetter {
		return db.DeadLetterOf(db.Bury(1, failedNow, func(d *event.DeadLetter) {
			d.Receipt.Provider, d.Failure.Class = provider, class
		})[0])
	}
	hasty, another := of("hasty", event.ClassRejected), of("acme", event.ClassFailed)
	of("hasty", event.ClassFailed)
	of("acme", event.ClassRejected)
	pause := func(d event.DeadLetter) float64 {
		return persistencetest.Value[float64](db, `SELECT extract(epoch FROM next_replay_at - last_failed_at)::float8 FROM dead_letters WHERE id = $1`, d.ID)
	}
	require.Empty(t, db.Due())
	require.InEpsilon(t, 60, pause(hasty), 0.2)
	require.InEpsilon(t, 3600, pause(another), 0.2)
	require.Equal(t, 2, persistencetest.Value[int](db, `SELECT count(*) FROM dead_letters WHERE next_replay_at IS NULL`))

	db.ReplayLater(3 * time.Minute)
	require.Equal(t, []int64{hasty.ID}, db.Due())
	hasty.Run = anotherRun(hasty.Receipt)
	db.Record(hasty)
	require.Empty(t, db.Due())
	require.Equal(t, event.DeadLetterExhausted, db.DeadLetterOf(hasty.Receipt).State, "it had its one attempt")
	require.Equal(t, event.DeadLetterOpen, db.DeadLetterOf(another.Receipt).State)
}

// What is left to the operators:
//   - rejected events, providers whose policy excludes them, and dead letters of a bulk replay
func TestSomeAreNotReplayedAutomatically(t *testing.T) {
	t.Parallel()
	db := persistencetest.Open(t)
	db.Bury(1, failedNow, func(d *event.DeadLetter) { d.Failure.Class = event.ClassRejected })
	db.Bury(1, failedNow, func(d *event.DeadLetter) { d.Receipt.Provider = "quiet" })
	owned := db.Bury(1, failedNow)[0]
	db.CreateReplay("one", operation.ReplayFilter{Provider: "acme", Class: event.ClassFailed})
	require.Len(t, db.ClaimAll("one", 5), 1)
	again := deadLetter(owned)
	failedNow(&again)
	again.Run = anotherRun(owned)
	db.Record(again)

	require.Empty(t, db.Due())
	db.ReplayLater(24 * time.Hour)
	require.Empty(t, db.Due(), "the bulk replay has not ended")
	_, settled, err := db.Replays.Settle(t.Context(), "one")
	require.NoError(t, err)
	require.True(t, settled)
	require.Len(t, db.Due(), 1)
	require.Equal(t, 2, persistencetest.Value[int](db, `SELECT count(*) FROM dead_letters WHERE next_replay_at IS NULL AND state = 'open'`))
}

// An operator has ended the runs of two events, one of which had failed before: no schedule reruns them, not even if an earlier
// release has planned it.
func TestRunsEndedByAnOperatorAreNotReplayedAutomatically(t *testing.T) {
	t.Parallel()
	db := persistencetest.Open(t)
	stopped := db.Bury(1, failedNow)[0]
	db.Bury(1, failedNow, func(d *event.DeadLetter) { d.Failure.Code = event.CodeTerminated })
	require.Empty(t, db.Due())
	db.ReplayLater(3 * time.Hour)
	canceled := deadLetter(stopped)
	failedNow(&canceled)
	canceled.Run, canceled.Failure.Code = anotherRun(stopped), event.CodeCanceled
	require.Len(t, db.Due(), 1)
	db.Record(canceled)
	db.Exec(`UPDATE dead_letters SET next_replay_at = now() - interval '1 h' WHERE error_code = 'terminated'`)
	require.Empty(t, db.Due(), "not even what an earlier release has planned")
	require.Equal(t, event.DeadLetterOpen, db.DeadLetterOf(stopped).State)
}
