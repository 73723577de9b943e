package persistence_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"holdfast/event"
	"holdfast/event/operation"
	"holdfast/event/oversight"
)

// letter records a dead letter of a new event, and returns its number.
func (d *database) letter() (event.Receipt, int64) {
	d.t.Helper()
	r := receipt()
	d.record(deadLetter(r))
	return r, d.deadLetterOf(r).ID
}

func requireState(t *testing.T, err error, state event.DeadLetterState) {
	t.Helper()
	var refused *event.StateError
	require.ErrorAs(t, err, &refused)
	require.Equal(t, state, refused.State)
}

func TestADiscardedDeadLetterIsKeptAndNotReplayed(t *testing.T) {
	t.Parallel()
	db := open(t)
	r, id := db.letter()
	err := db.DeadLetters.DiscardDeadLetter(t.Context(), id, oversight.Actor{Name: "ada"})
	requireFailure(t, err, event.ClassRejected, "missing_reason")
	require.Empty(t, db.audit(), "what was refused is not on record as done")

	require.NoError(t, db.DeadLetters.DiscardDeadLetter(t.Context(), id, ada))
	got := db.deadLetterOf(r)
	require.Equal(t, event.DeadLetterDiscarded, got.State)
	require.Equal(t, "ada", got.DiscardedBy)
	require.Equal(t, "the sender was wrong", got.DiscardReason)
	require.NotNil(t, got.DiscardedAt)
	require.Equal(t, body, got.Body)
	requireState(t, db.DeadLetters.DiscardDeadLetter(t.Context(), id, ada), event.DeadLetterDiscarded)
	ok := db.tryTake(id) == nil
	require.False(t, ok)

	entries := db.audit()
	require.Len(t, entries, 1)
	require.EqualValues(t, "dead_letter.discard", entries[0].Action)
	require.Equal(t, "ada", entries[0].Actor)
	require.JSONEq(t, `{"event_id":"`+r.ID+`","workflow_id":"`+r.WorkflowID()+`","state":"open",
		"changes":0,"entities":0}`, string(entries[0].Detail))
}

func TestADeadLetterThatIsBeingReplayedIsNotDiscarded(t *testing.T) {
	t.Parallel()
	db := open(t)
	_, id := db.letter()
	db.take(id)
	requireState(t, db.DeadLetters.DiscardDeadLetter(t.Context(), id, ada), event.DeadLetterReplaying)

	db.exec(`UPDATE dead_letters SET replaying_since = now() - interval '15 minutes'`) // its owner is gone
	require.NoError(t, db.DeadLetters.DiscardDeadLetter(t.Context(), id, ada))
}

func TestOnlyClosedDeadLettersAreDeleted(t *testing.T) {
	t.Parallel()
	db := open(t)
	_, id := db.letter()
	requireState(t, db.DeadLetters.DeleteDeadLetter(t.Context(), id, ada), event.DeadLetterOpen)
	require.NoError(t, db.DeadLetters.DiscardDeadLetter(t.Context(), id, ada))
	require.NoError(t, db.DeadLetters.DeleteDeadLetter(t.Context(), id, ada))
	require.ErrorIs(t, db.DeadLetters.DeleteDeadLetter(t.Context(), id, ada), event.ErrNotFound)
	_, err := db.DeadLetters.DeadLetter(t.Context(), id)
	require.ErrorIs(t, err, event.ErrNotFound)
	require.Equal(t, []oversight.AuditAction{"dead_letter.delete", "dead_letter.discard"},
		[]oversight.AuditAction{db.audit()[0].Action, db.audit()[1].Action})
	require.Len(t, db.audit(), 2)
}

func TestACleanupRemovesOldClosedDeadLetters(t *testing.T) {
	t.Parallel()
	db := open(t)
	_, waiting := db.letter()
	var closed []int64
	for range 4 {
		_, id := db.letter()
		require.NoError(t, db.DeadLetters.DiscardDeadLetter(t.Context(), id, ada))
		closed = append(closed, id)
	}
	db.exec(`UPDATE dead_letters SET discarded_at = now() - interval '40 days' WHERE id <= $1 AND state = 'discarded'`, closed[2])
	old := time.Now().AddDate(0, 0, -30)
	removed, err := db.DeadLetters.CleanUpDeadLetters(t.Context(), operation.Cleanup{Before: old, Limit: 2}, ada)
	require.NoError(t, err)
	require.EqualValues(t, 2, removed)
	removed, err = db.DeadLetters.CleanUpDeadLetters(t.Context(), operation.Cleanup{Before: old, Provider: "another"}, ada)
	require.NoError(t, err)
	require.Zero(t, removed)
	removed, err = db.DeadLetters.CleanUpDeadLetters(t.Context(), operation.Cleanup{Before: old}, ada)
	require.NoError(t, err)
	require.EqualValues(t, 1, removed)

	left, err := db.DeadLetters.DeadLetters(t.Context(), event.DeadLetterQuery{})
	require.NoError(t, err)
	require.ElementsMatch(t, []int64{waiting, closed[3]}, []int64{left[0].ID, left[1].ID})
	require.Contains(t, string(db.audit()[2].Detail), `"removed": 2`)
}

// An edit makes a new event from a dead one:
//   - the original is kept, with its bytes, and each names the other
//   - the new one is claimed for its run already, and free again if that was not started
//   - the original can neither be replayed nor edited again
func TestAnEditIsANewEvent(t *testing.T) {
	t.Parallel()
	db := open(t)
	r, id := db.letter()
	edited := []byte(`{"id":"evt_1","data":{}}`)
	revised, err := db.DeadLetters.EditDeadLetter(t.Context(), operation.Edit{DeadLetter: id, EventID: receipt().ID, Body: edited}, ada)
	require.NoError(t, err)

	require.Equal(t, edited, revised.Body)
	require.Equal(t, event.DeadLetterReplaying, revised.State)
	require.Equal(t, r.Key+":r1", revised.Receipt.Key)
	require.Equal(t, r.WorkflowID()+":r1", revised.Run.WorkflowID)
	require.Equal(t, r.ID, revised.Receipt.Replaces)
	require.Equal(t, r.Headers, revised.Receipt.Headers)
	require.Zero(t, revised.Failures)
	original := db.deadLetterOf(r)
	require.Equal(t, event.DeadLetterDiscarded, original.State)
	require.Equal(t, revised.Receipt.ID, original.ReplacedBy)
	require.Equal(t, body, original.Body)
	require.Len(t, db.audit(), 1)
	require.EqualValues(t, "dead_letter.edit", db.audit()[0].Action)

	_, err = db.DeadLetters.EditDeadLetter(t.Context(), operation.Edit{DeadLetter: id, EventID: receipt().ID, Body: edited}, ada)
	requireState(t, err, event.DeadLetterDiscarded)
	require.ErrorContains(t, err, "replaced by event "+revised.Receipt.ID)

	require.NoError(t, db.DeadLetters.Release(t.Context(), "", revised.ID))
	again, err := db.DeadLetters.EditDeadLetter(t.Context(), operation.Edit{DeadLetter: revised.ID, EventID: receipt().ID}, ada)
	require.NoError(t, err)
	require.Equal(t, r.Key+":r2", again.Receipt.Key, "an edit of an edit counts on")
	require.Equal(t, revised.Receipt.ID, again.Receipt.Replaces)

	require.NoError(t, db.UpsertEntitiesAfterPersist(again.Receipt))
	require.Equal(t, event.DeadLetterResolved, db.deadLetterOf(again.Receipt).State)
	require.Equal(t, event.DeadLetterDiscarded, db.deadLetterOf(r).State)
}

func TestOfFiftyEditsAtOnceOneWins(t *testing.T) {
	t.Parallel()
	db := open(t)
	_, id := db.letter()
	var wins atomic.Int32
	var group errgroup.Group
	for range 50 {
		group.Go(func() error {
			_, err := db.DeadLetters.EditDeadLetter(t.Context(), operation.Edit{DeadLetter: id, EventID: receipt().ID, Body: body}, ada)
			if err == nil {
				wins.Add(1)
				return nil
			}
			requireState(t, err, event.DeadLetterDiscarded)
			return nil
		})
	}
	require.NoError(t, group.Wait())
	require.EqualValues(t, 1, wins.Load())
	require.Equal(t, 2, value[int](db, `SELECT count(*) FROM dead_letters`))
	require.Len(t, db.audit(), 1)
}
