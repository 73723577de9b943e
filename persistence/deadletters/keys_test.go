package deadletters_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/event"
	"holdfast/event/operation"
	"holdfast/persistence/persistencetest"
)

// redelivered returns a redelivery that isn't recognized as one: Temporal has deleted the run of the first.
func redelivered(r event.Receipt, later time.Duration) event.Receipt {
	again := sameKey(r, later)
	again.Fingerprint, again.Certain = r.Fingerprint, r.Certain
	return again
}

func lettersOf(d *persistencetest.Database, r event.Receipt) int {
	return persistencetest.Value[int](d, `SELECT count(*) FROM dead_letters WHERE event_id = $1`, r.ID)
}

// An operator has decided about an event that failed at parse. Its redelivery has its own ID, and fails at parse as well:
//   - nothing is kept of it, and the run gets the decision
//   - a window later the same key is another event, of which nothing is dropped
func TestADecisionHoldsForTheKey(t *testing.T) {
	t.Parallel()
	for outcome, decide := range map[event.Outcome]func(*persistencetest.Database, event.Receipt) error{
		event.OutcomeDiscarded: func(d *persistencetest.Database, r event.Receipt) error {
			return d.DeadLetters.DiscardDeadLetter(d.T.Context(), d.DeadLetterOf(r).ID, ada)
		},
		event.OutcomeExpunged: func(d *persistencetest.Database, r event.Receipt) error {
			_, err := d.Upkeep.Expunge(d.T.Context(), r.ID, 0, ada)
			return err
		},
	} {
		t.Run(string(outcome), func(t *testing.T) {
			t.Parallel()
			db := persistencetest.Open(t)
			r := receipt()
			r.DedupeWindow = event.Duration(time.Hour)
			db.Record(died(r, time.Now()))
			require.NoError(t, decide(db, r))

			again := redelivered(r, 59*time.Minute)
			var decided *event.DecisionError
			require.ErrorAs(t, db.DeadLetters.RecordDeadLetter(t.Context(), died(again, time.Now())), &decided)
			require.Equal(t, []string{string(outcome), ada.Name, ada.Reason},
				[]string{string(decided.Decision.Outcome), decided.Decision.By, decided.Decision.Reason})
			require.Zero(t, lettersOf(db, again))
			persisted, err := db.Writer.Write(t.Context(), event.WholeEvent, again, body, parsed(), runOf(again))
			require.NoError(t, err)
			require.True(t, persisted.Duplicate)

			another := redelivered(r, time.Hour)
			db.Record(died(another, time.Now()))
			require.Equal(t, event.DeadLetterOpen, db.DeadLetterOf(another).State)
		})
	}
}

// An event is discarded whose key an older event owns, of a window that has passed: the discarded event gets the key.
func TestADecisionClaimsAnExpiredKey(t *testing.T) {
	t.Parallel()
	db := persistencetest.Open(t)
	older := receipt()
	older.DedupeWindow = event.Duration(time.Hour)
	r := redelivered(older, 2*time.Hour)
	db.Record(died(r, time.Now()))
	db.Exec(`DELETE FROM idempotency_keys`) // as the previous release left it
	db.Process(older, parsed())
	require.NoError(t, db.DeadLetters.DiscardDeadLetter(t.Context(), db.DeadLetterOf(r).ID, ada))

	again := redelivered(r, time.Minute)
	persisted, err := db.Writer.Write(t.Context(), event.WholeEvent, again, body, parsed(), runOf(again))
	require.NoError(t, err)
	require.Equal(t, event.Persisted{Duplicate: true, Owner: r.ID}, persisted)
}

// An event that failed at parse has an open dead letter, and its redelivery has its own ID:
//   - if it fails, there is no second dead letter
//   - if it succeeds, its result names the event that it rescues
//   - other content under a certain key is another event, and is kept under its own key, once
//   - other content under any other key is a conflict that is only recorded
func TestAnEventThatWaitsGetsNoSecondDeadLetter(t *testing.T) {
	t.Parallel()
	for _, certain := range []bool{true, false} {
		db := persistencetest.Open(t)
		r := receipt()
		r.Fingerprint, r.Certain = "sha256:one", certain
		db.Record(died(r, time.Now()))
		again := redelivered(r, time.Minute)
		var duplicate *event.DuplicateError
		require.ErrorAs(t, db.DeadLetters.RecordDeadLetter(t.Context(), died(again, time.Now())), &duplicate)
		require.Equal(t, event.DuplicateError{Owner: r.ID, OwnerWaits: true}, *duplicate)
		persisted, err := db.Writer.Write(t.Context(), event.WholeEvent, again, body, parsed(), runOf(again))
		require.NoError(t, err)
		require.Equal(t, event.Persisted{Duplicate: true, Owner: r.ID, OwnerWaits: true}, persisted)

		for range 2 {
			other := redelivered(r, time.Minute)
			other.Fingerprint = "sha256:other"
			err = db.DeadLetters.RecordDeadLetter(t.Context(), died(other, time.Now()))
			if certain && lettersOf(db, other) == 1 {
				require.NoError(t, err)
				require.Equal(t, r.ID, db.DeadLetterOf(other).Receipt.ConflictsWith)
				require.NotEqual(t, r.Key, db.DeadLetterOf(other).Receipt.Key)
				continue
			}
			require.ErrorAs(t, err, &duplicate)
			require.Equal(t, certain, duplicate.Conflict == nil)
		}
		want := 1
		if certain {
			want = 2
		}
		require.Equal(t, want, persistencetest.Value[int](db, `SELECT count(*) FROM dead_letters`))
		require.Len(t, db.Conflicts(), 1)

		db.Process(r, parsed())
		require.Equal(t, event.DeadLetterResolved, db.DeadLetterOf(r).State)
		require.ErrorAs(t, db.DeadLetters.RecordDeadLetter(t.Context(), died(again, time.Now())), &duplicate, "a late attempt")
		require.False(t, duplicate.OwnerWaits)
	}
}

// An event fails, and its redelivery just before the end of the window fails as the same event. After the window its sender
// reuses the key. A replay of the first runs the redelivery, and is still no duplicate of the other event.
func TestALateRedeliveryDoesNotMoveTheWindow(t *testing.T) {
	t.Parallel()
	db := persistencetest.Open(t)
	r := receipt()
	r.ReceivedAt, r.DedupeWindow = event.AcceptedAt(r.ID), event.Duration(time.Hour)
	db.Record(died(r, time.Now()))
	again := r
	again.ReceivedAt = r.ReceivedAt.Add(59 * time.Minute)
	db.Record(died(again, time.Now()))
	another := redelivered(r, 61*time.Minute)
	persisted, err := db.Writer.Write(t.Context(), event.WholeEvent, another, body, parsed(), runOf(another))
	require.NoError(t, err)
	persisted.Entities = nil
	require.Equal(t, event.Persisted{Processed: true}, persisted)

	letter, err := db.DeadLetters.ClaimForReplay(t.Context(), "", db.DeadLetterOf(r).ID, ada)
	require.NoError(t, err)
	db.Record(died(letter.Receipt, time.Now()))
	require.Equal(t, 3, db.DeadLetterOf(r).Failures, "a replay that fails again")
	persisted, err = db.Writer.Write(t.Context(), event.WholeEvent, letter.Receipt, body, parsed(), anotherRun(r))
	require.NoError(t, err)
	persisted.Entities = nil
	require.Equal(t, event.Persisted{Processed: true}, persisted)
	require.Equal(t, event.StatusProcessed, db.Status(r.ID))
}

// The sweep finds a terminated replay of an event that owns its key and has no row.
func TestTheSweepFindsARunOfADeadLetterThatWaits(t *testing.T) {
	t.Parallel()
	db := persistencetest.Open(t)
	r := receipt()
	db.Record(died(r, time.Now()))
	runs, err := db.DeadLetters.Unrecorded(t.Context(), []operation.ClosedRun{{
		Run: anotherRun(r), EventID: r.ID, Status: "terminated", ClosedAt: time.Now().Add(time.Minute),
	}})
	require.NoError(t, err)
	require.Len(t, runs, 1)
}
