package persistence_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/event"
	"holdfast/event/operation"
)

// redelivered returns a redelivery that isn't recognized as one: Temporal has deleted the run of the first.
func redelivered(r event.Receipt, later time.Duration) event.Receipt {
	again := sameKey(r, later)
	again.Fingerprint, again.Certain = r.Fingerprint, r.Certain
	return again
}

func (d *database) lettersOf(r event.Receipt) int {
	return value[int](d, `SELECT count(*) FROM dead_letters WHERE event_id = $1`, r.ID)
}

// An operator has decided about an event that failed at parse. Its redelivery has its own ID, and fails at parse as well:
//   - nothing is kept of it, and the run gets the decision
//   - a window later the same key is another event, of which nothing is dropped
func TestADecisionHoldsForTheKey(t *testing.T) {
	t.Parallel()
	for outcome, decide := range map[event.Outcome]func(*database, event.Receipt) error{
		event.OutcomeDiscarded: func(d *database, r event.Receipt) error {
			return d.DeadLetters.DiscardDeadLetter(d.t.Context(), d.deadLetterOf(r).ID, ada)
		},
		event.OutcomeExpunged: func(d *database, r event.Receipt) error {
			_, err := d.Upkeep.Expunge(d.t.Context(), r.ID, 0, ada)
			return err
		},
	} {
		t.Run(string(outcome), func(t *testing.T) {
			t.Parallel()
			db := open(t)
			r := receipt()
			r.DedupeWindow = event.Duration(time.Hour)
			db.record(died(r, time.Now()))
			require.NoError(t, decide(db, r))

			again := redelivered(r, 59*time.Minute)
			requireDecision(t, db.DeadLetters.RecordDeadLetter(t.Context(), died(again, time.Now())), outcome, ada.Reason)
			require.Zero(t, db.lettersOf(again))
			persisted, err := db.Writer.Write(t.Context(), event.WholeEvent, again, body, parsed(), runOf(again))
			require.NoError(t, err)
			require.True(t, persisted.Duplicate)

			another := redelivered(r, time.Hour)
			db.record(died(another, time.Now()))
			require.Equal(t, event.DeadLetterOpen, db.deadLetterOf(another).State)
		})
	}
}

// An event is discarded whose key an older event owns, of a window that has passed: the discarded event gets the key.
func TestADecisionClaimsAnExpiredKey(t *testing.T) {
	t.Parallel()
	db := open(t)
	older := receipt()
	older.DedupeWindow = event.Duration(time.Hour)
	r := redelivered(older, 2*time.Hour)
	db.record(died(r, time.Now()))
	db.exec(`DELETE FROM idempotency_keys`) // as the previous release left it
	db.process(older, parsed())
	require.NoError(t, db.DeadLetters.DiscardDeadLetter(t.Context(), db.deadLetterOf(r).ID, ada))

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
		db := open(t)
		r := receipt()
		r.Fingerprint, r.Certain = "sha256:one", certain
		db.record(died(r, time.Now()))
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
			if certain && db.lettersOf(other) == 1 {
				require.NoError(t, err)
				require.Equal(t, r.ID, db.deadLetterOf(other).Receipt.ConflictsWith)
				require.NotEqual(t, r.Key, db.deadLetterOf(other).Receipt.Key)
				continue
			}
			require.ErrorAs(t, err, &duplicate)
			require.Equal(t, certain, duplicate.Conflict == nil)
		}
		want := 1
		if certain {
			want = 2
		}
		require.Equal(t, want, value[int](db, `SELECT count(*) FROM dead_letters`))
		require.Len(t, db.conflicts(), 1)

		db.process(r, parsed())
		require.Equal(t, event.DeadLetterResolved, db.deadLetterOf(r).State)
		require.ErrorAs(t, db.DeadLetters.RecordDeadLetter(t.Context(), died(again, time.Now())), &duplicate, "a late attempt")
		require.False(t, duplicate.OwnerWaits)
	}
}

// An event fails, and its redelivery just before the end of the window fails as the same event. After the window its sender
// reuses the key. A replay of the first runs the redelivery, and is still no duplicate of the other event.
func TestALateRedeliveryDoesNotMoveTheWindow(t *testing.T) {
	t.Parallel()
	db := open(t)
	r := receipt()
	r.ReceivedAt, r.DedupeWindow = event.AcceptedAt(r.ID), event.Duration(time.Hour)
	db.record(died(r, time.Now()))
	again := r
	again.ReceivedAt = r.ReceivedAt.Add(59 * time.Minute)
	db.record(died(again, time.Now()))
	another := redelivered(r, 61*time.Minute)
	persisted, err := db.Writer.Write(t.Context(), event.WholeEvent, another, body, parsed(), runOf(another))
	require.NoError(t, err)
	persisted.Entities = nil
	require.Equal(t, event.Persisted{Processed: true}, persisted)

	letter, err := db.DeadLetters.ClaimForReplay(t.Context(), "", db.deadLetterOf(r).ID, ada)
	require.NoError(t, err)
	db.record(died(letter.Receipt, time.Now()))
	require.Equal(t, 3, db.deadLetterOf(r).Failures, "a replay that fails again")
	persisted, err = db.Writer.Write(t.Context(), event.WholeEvent, letter.Receipt, body, parsed(), anotherRun(r))
	require.NoError(t, err)
	persisted.Entities = nil
	require.Equal(t, event.Persisted{Processed: true}, persisted)
	require.Equal(t, event.StatusProcessed, db.status(r.ID))
}

// The sweep finds a terminated replay of an event that owns its key and has no row.
func TestTheSweepFindsARunOfADeadLetterThatWaits(t *testing.T) {
	t.Parallel()
	db := open(t)
	r := receipt()
	db.record(died(r, time.Now()))
	runs, err := db.DeadLetters.Unrecorded(t.Context(), []operation.ClosedRun{{
		Run: anotherRun(r), EventID: r.ID, Status: "terminated", ClosedAt: time.Now().Add(time.Minute),
	}})
	require.NoError(t, err)
	require.Len(t, runs, 1)
}

// The key of an event with an open dead letter is imported: the dead letter keeps it, and its replay inserts a row.
func TestAnImportedKeyLeavesADeadLetterItsKey(t *testing.T) {
	t.Parallel()
	m := newMover(open(t), 10)
	r := receipt()
	m.record(died(r, time.Now()))
	require.Equal(t, "1 of 1: 0 new, 1 there, 0 unreadable, 0 failed (completed)", summary(m.bring(m.key(r.Key, noon.Add(-time.Hour)))))

	persisted, err := m.Writer.Write(t.Context(), event.WholeEvent, r, body, parsed(), anotherRun(r))
	require.NoError(t, err)
	persisted.Entities = nil
	require.Equal(t, event.Persisted{Processed: true}, persisted)
	require.Equal(t, event.StatusProcessed, m.status(r.ID))
	require.Equal(t, event.DeadLetterResolved, m.deadLetterOf(r).State)
}
