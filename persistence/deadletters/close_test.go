package deadletters_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"holdfast/event"
	"holdfast/event/operation"
	"holdfast/event/oversight"
	"holdfast/persistence/persistencetest"
)

func audit(d *persistencetest.Database) []oversight.AuditEntry {
	d.T.Helper()
	entries, err := d.Audit.AuditLog(d.T.Context(), oversight.AuditQuery{})
	require.NoError(d.T, err)
	return entries
}

func TestADiscardedDeadLetterIsKeptAndNotReplayed(t *testing.T) {
	t.Parallel()
	db := persistencetest.Open(t)
	r, id := db.Letter()
	err := db.DeadLetters.DiscardDeadLetter(t.Context(), id, oversight.Actor{Name: "ada"})
	require.Equal(t, "missing_reason", event.CodeOf(err))
	require.Empty(t, audit(db), "what was refused is not on record as done")

	require.NoError(t, db.DeadLetters.DiscardDeadLetter(t.Context(), id, ada))
	got := db.DeadLetterOf(r)
	require.Equal(t, event.DeadLetterDiscarded, got.State)
	require.Equal(t, "ada", got.DiscardedBy)
	require.Equal(t, "the sender was wrong", got.DiscardReason)
	require.NotNil(t, got.DiscardedAt)
	require.Equal(t, body, got.Body)
	persistencetest.RequireState(t, db.DeadLetters.DiscardDeadLetter(t.Context(), id, ada), event.DeadLetterDiscarded)
	ok := db.Claim(id) == nil
	require.False(t, ok)

	entries := audit(db)
	require.Len(t, entries, 1)
	require.EqualValues(t, "dead_letter.discard", entries[0].Action)
	require.Equal(t, "ada", entries[0].Actor)
	require.JSONEq(t, `{"event_id":"`+r.ID+`","workflow_id":"`+r.WorkflowID()+`","state":"open",
		"changes":0,"entities":0}`, string(entries[0].Detail))
}

func TestADeadLetterThatIsBeingReplayedIsNotDiscarded(t *testing.T) {
	t.Parallel()
	db := persistencetest.Open(t)
	_, id := db.Letter()
	require.NoError(t, db.Claim(id))
	persistencetest.RequireState(t, db.DeadLetters.DiscardDeadLetter(t.Context(), id, ada), event.DeadLetterReplaying)

	db.Exec(`UPDATE dead_letters SET replaying_since = now() - interval '15 minutes'`) // its owner is gone
	require.NoError(t, db.DeadLetters.DiscardDeadLetter(t.Context(), id, ada))
}

func TestOnlyClosedDeadLettersAreDeleted(t *testing.T) {
	t.Parallel()
	db := persistencetest.Open(t)
	_, id := db.Letter()
	persistencetest.RequireState(t, db.DeadLetters.DeleteDeadLetter(t.Context(), id, ada), event.DeadLetterOpen)
	require.NoError(t, db.DeadLetters.DiscardDeadLetter(t.Context(), id, ada))
	require.NoError(t, db.DeadLetters.DeleteDeadLetter(t.Context(), id, ada))
	require.ErrorIs(t, db.DeadLetters.DeleteDeadLetter(t.Context(), id, ada), event.ErrNotFound)
	_, err := db.DeadLetters.DeadLetter(t.Context(), id)
	require.ErrorIs(t, err, event.ErrNotFound)
	require.Equal(t, []oversight.AuditAction{"dead_letter.delete", "dead_letter.discard"},
		[]oversight.AuditAction{audit(db)[0].Action, audit(db)[1].Action})
	require.Len(t, audit(db), 2)
}

func TestACleanupRemovesOldClosedDeadLetters(t *testing.T) {
	t.Parallel()
	db := persistencetest.Open(t)
	_, waiting := db.Letter()
	var closed []int64
	for range 4 {
		_, id := db.Letter()
		require.NoError(t, db.DeadLetters.DiscardDeadLetter(t.Context(), id, ada))
		closed = append(closed, id)
	}
	db.Exec(`UPDATE dead_letters SET discarded_at = now() - interval '40 days' WHERE id <= $1 AND state = 'discarded'`, closed[2])
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
	require.Contains(t, string(audit(db)[2].Detail), `"removed": 2`)
}

// An edit makes a new event from a dead one:
//   - the original is kept, with its bytes, and each names the other
//   - the new one is claimed for its run already, and free again if that was not started
//   - the original can neither be replayed nor edited again
func TestAnEditIsANewEvent(t *testing.T) {
	t.Parallel()
	db := persistencetest.Open(t)
	r, id := db.Letter()
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
	original := db.DeadLetterOf(r)
	require.Equal(t, event.DeadLetterDiscarded, original.State)
	require.Equal(t, revised.Receipt.ID, original.ReplacedBy)
	require.Equal(t, body, original.Body)
	require.Len(t, audit(db), 1)
	require.EqualValues(t, "dead_letter.edit", audit(db)[0].Action)

	_, err = db.DeadLetters.EditDeadLetter(t.Context(), operation.Edit{DeadLetter: id, EventID: receipt().ID, Body: edited}, ada)
	persistencetest.RequireState(t, err, event.DeadLetterDiscarded)
	require.ErrorContains(t, err, "replaced by event "+revised.Receipt.ID)

	require.NoError(t, db.DeadLetters.Release(t.Context(), "", revised.ID))
	again, err := db.DeadLetters.EditDeadLetter(t.Context(), operation.Edit{DeadLetter: revised.ID, EventID: receipt().ID}, ada)
	require.NoError(t, err)
	require.Equal(t, r.Key+":r2", again.Receipt.Key, "an edit of an edit counts on")
	require.Equal(t, revised.Receipt.ID, again.Receipt.Replaces)

	db.ProcessAgain(again.Receipt)
	require.Equal(t, event.DeadLetterResolved, db.DeadLetterOf(again.Receipt).State)
	require.Equal(t, event.DeadLetterDiscarded, db.DeadLetterOf(r).State)
}

func TestOfFiftyEditsAtOnceOneWins(t *testing.T) {
	t.Parallel()
	db := persistencetest.Open(t)
	_, id := db.Letter()
	var wins atomic.Int32
	var group errgroup.Group
	for range 50 {
		group.Go(func() error {
			_, err := db.DeadLetters.EditDeadLetter(t.Context(), operation.Edit{DeadLetter: id, EventID: receipt().ID, Body: body}, ada)
			if err == nil {
				wins.Add(1)
				return nil
			}
			persistencetest.RequireState(t, err, event.DeadLetterDiscarded)
			return nil
		})
	}
	require.NoError(t, group.Wait())
	require.EqualValues(t, 1, wins.Load())
	require.Equal(t, 2, persistencetest.Value[int](db, `SELECT count(*) FROM dead_letters`))
	require.Len(t, audit(db), 1)
}
