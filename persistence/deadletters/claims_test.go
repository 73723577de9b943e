package deadletters_test

import (
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"holdfast/event"
	"holdfast/persistence/persistencetest"
)

func TestOfFiftyReplaysAtOnceOneWins(t *testing.T) {
	t.Parallel()
	db := persistencetest.Open(t)
	r := receipt()
	db.Record(deadLetter(r))
	id := db.DeadLetterOf(r).ID
	var wins atomic.Int32
	var group errgroup.Group
	for range 50 {
		group.Go(func() error {
			err := db.Claim(id)
			var refused *event.StateError
			switch {
			case err == nil:
				wins.Add(1)
			case errors.As(err, &refused) && refused.State == event.DeadLetterReplaying:
			default:
				return err
			}
			return nil
		})
	}
	require.NoError(t, group.Wait())
	require.EqualValues(t, 1, wins.Load())
	require.Equal(t, 1, persistencetest.Value[int](db, `SELECT count(*) FROM audit_log WHERE action = 'dead_letter.replay'`),
		"what was refused has changed nothing")

	require.NoError(t, db.DeadLetters.Release(t.Context(), "replay-1", id))
	require.NoError(t, db.Claim(id))
	require.NoError(t, db.DeadLetters.Release(t.Context(), "somebody else", id))
	require.Error(t, db.Claim(id), "only its owner gives it back")

	db.Exec(`UPDATE dead_letters SET replaying_since = now() - interval '15 minutes'`)
	require.NoError(t, db.Claim(id), "one whose replay was lost can be taken over")

	db.ProcessAgain(r)
	var refused *event.StateError
	require.ErrorAs(t, db.Claim(id), &refused)
	require.Equal(t, event.DeadLetterResolved, refused.State)
	require.ErrorIs(t, db.Claim(id+1), event.ErrNotFound)
}

// A replay is killed after it has claimed a dead letter, and again after it has started its run:
//   - the first time it is found as not started, the second time it is not
func TestClaimedButUnstartedEventsAreFound(t *testing.T) {
	t.Parallel()
	db := persistencetest.Open(t)
	r := receipt()
	db.Record(deadLetter(r))
	id := db.DeadLetterOf(r).ID
	require.NoError(t, db.Claim(id))
	letters, err := db.DeadLetters.Unstarted(t.Context(), "replay-1", 10)
	require.NoError(t, err)
	require.Len(t, letters, 1)
	require.Equal(t, r, letters[0].Receipt)
	require.Equal(t, body, letters[0].Body)

	require.NoError(t, db.DeadLetters.MarkStarted(t.Context(), "replay-1", map[int64]string{id: "run"}))
	letters, err = db.DeadLetters.Unstarted(t.Context(), "replay-1", 10)
	require.NoError(t, err)
	require.Empty(t, letters)
}

// An exhausted dead letter counts as open:
//   - a later failure is added to it, and it stays exhausted
//   - any rescue of its event resolves it
func TestAnExhaustedDeadLetterIsTheOneOfItsEvent(t *testing.T) {
	t.Parallel()
	db := persistencetest.Open(t)
	r := receipt()
	db.Record(deadLetter(r))
	db.Exec(`UPDATE dead_letters SET state = 'exhausted'`)
	db.Record(died(r, noon.Add(time.Hour)))
	require.Equal(t, event.DeadLetterExhausted, db.DeadLetterOf(r).State)
	require.Equal(t, 2, db.DeadLetterOf(r).Failures)
	counts, err := db.DeadLetters.OpenDeadLetters(t.Context())
	require.NoError(t, err)
	require.Equal(t, map[string]int64{"acme": 1}, counts)

	db.ProcessAgain(r)
	require.Equal(t, event.DeadLetterResolved, db.DeadLetterOf(r).State)
	require.Equal(t, 1, persistencetest.Value[int](db, `SELECT count(*) FROM dead_letters`))
}

// A failing replay leaves one open row with one more failure.
func TestAFailingReplayLeavesOneOpenRow(t *testing.T) {
	t.Parallel()
	db := persistencetest.Open(t)
	r := receipt()
	db.Record(deadLetter(r))
	require.NoError(t, db.Claim(db.DeadLetterOf(r).ID))
	db.Record(died(r, noon.Add(time.Hour)))
	require.Equal(t, event.DeadLetterOpen, db.DeadLetterOf(r).State)
	require.Equal(t, 2, db.DeadLetterOf(r).Failures)
	require.Equal(t, 1, persistencetest.Value[int](db, `SELECT count(*) FROM dead_letters`))
}
