package persistence_test

import (
	"os"
	"strings"
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
			requireVerdict(t, db.DeadLetters.RecordDeadLetter(t.Context(), died(again, time.Now())), outcome, ada.Reason)
			require.Zero(t, db.lettersOf(again))
			persisted, err := db.Writer.Process(t.Context(), again, body, parsed(), runOf(again))
			require.NoError(t, err)
			require.True(t, persisted.Duplicate)

			another := redelivered(r, time.Hour)
			db.record(died(another, time.Now()))
			require.Equal(t, event.DeadLetterOpen, db.deadLetterOf(another).State)
		})
	}
}

// An event is discarded whose key an older event owns, of a window that has passed: the discarded event gets the key.
func TestADecisionTakesAKeyOverWhoseWindowHasPassed(t *testing.T) {
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
	persisted, err := db.Writer.Process(t.Context(), again, body, parsed(), runOf(again))
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
		persisted, err := db.Writer.Process(t.Context(), again, body, parsed(), runOf(again))
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
	persisted, err := db.Writer.Process(t.Context(), another, body, parsed(), runOf(another))
	require.NoError(t, err)
	persisted.Entities = nil
	require.Equal(t, event.Persisted{Processed: true}, persisted)

	letter, err := db.DeadLetters.ClaimForReplay(t.Context(), "", db.deadLetterOf(r).ID, ada)
	require.NoError(t, err)
	db.record(died(letter.Receipt, time.Now()))
	require.Equal(t, 3, db.deadLetterOf(r).Failures, "a replay that fails again")
	persisted, err = db.Writer.Process(t.Context(), letter.Receipt, body, parsed(), anotherRun(r))
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

	persisted, err := m.Writer.Process(t.Context(), r, body, parsed(), anotherRun(r))
	require.NoError(t, err)
	persisted.Entities = nil
	require.Equal(t, event.Persisted{Processed: true}, persisted)
	require.Equal(t, event.StatusProcessed, m.status(r.ID))
	require.Equal(t, event.DeadLetterResolved, m.deadLetterOf(r).State)
}

// Dead letters of the previous release own no key. The migration assigns it:
//   - to the first of two that are open with one key, and to a discarded one
//   - replacing a key that was imported later, or one whose window has passed
//   - but not replacing an event that owns it, or a key that was imported before the event was received
func TestDeadLettersGetTheirKeys(t *testing.T) {
	t.Parallel()
	m := newMover(open(t), 10)
	text, err := os.ReadFile("../migrations/0051_give_dead_letters_their_keys.sql")
	require.NoError(t, err)
	waiting := func(change func(*event.Receipt)) event.Receipt {
		r := receipt()
		r.Fingerprint, r.Headers = "sha256:own", map[string]string{"x": "a\x00\"fingerprint\":\"sha256:forged\""}
		change(&r)
		m.record(died(r, time.Now()))
		m.exec(`DELETE FROM idempotency_keys WHERE event_id = $1`, r.ID)
		return r
	}
	plain := waiting(func(r *event.Receipt) { r.DedupeWindow = event.Duration(90 * time.Minute) })
	bare := waiting(func(r *event.Receipt) {
		r.Fingerprint, r.Earlier = "", &event.EarlierKey{Key: "before", Fingerprint: "sha256:before"}
	})
	second := waiting(func(r *event.Receipt) { r.Key, r.ReceivedAt = plain.Key, noon.Add(time.Minute) })
	discarded := waiting(func(*event.Receipt) {})
	require.NoError(t, m.DeadLetters.DiscardDeadLetter(t.Context(), m.deadLetterOf(discarded).ID, ada))
	later, earlier := waiting(func(*event.Receipt) {}), waiting(func(r *event.Receipt) { r.ReceivedAt = time.Now().Add(time.Hour) })
	passed := waiting(func(r *event.Receipt) { r.DedupeWindow = event.Duration(time.Hour) })
	owned := waiting(func(*event.Receipt) {})
	m.exec(`DELETE FROM idempotency_keys`)
	m.bring(m.key(later.Key, noon.Add(-time.Hour)), m.key(earlier.Key, noon.Add(-time.Hour)))
	m.process(redelivered(passed, -time.Hour), parsed())
	owner := redelivered(owned, time.Minute)
	m.process(owner, parsed())

	_, sql, _ := strings.Cut(string(text), "-- +goose Up")
	for range 2 {
		m.exec(sql)
		of := func(r event.Receipt) string {
			return value[string](m.database, `
SELECT concat_ws(' ', event_id, fingerprint, expires_at - first_seen) FROM idempotency_keys WHERE key = $1`, r.Key)
		}
		require.Equal(t, plain.ID+" sha256:own 01:30:00", of(second))
		require.Equal(t, bare.ID, of(bare))
		require.Equal(t, discarded.ID+" sha256:own", of(discarded))
		require.Equal(t, later.ID+" sha256:own", of(later))
		require.Equal(t, operation.KeyOwnerID("acme", earlier.Key), of(earlier))
		require.Equal(t, passed.ID+" sha256:own 01:00:00", of(passed))
		require.Equal(t, owner.ID, strings.Fields(of(owned))[0])
	}
}
