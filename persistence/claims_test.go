package persistence_test

import (
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"holdfast/event"
	"holdfast/event/oversight"
)

func (d *database) tryTake(id int64) error {
	_, err := d.DeadLetters.ClaimForReplay(d.t.Context(), "replay-1", id, oversight.Actor{Name: "ada"})
	return err
}

func (d *database) take(id int64) {
	d.t.Helper()
	require.NoError(d.t, d.tryTake(id))
}

func TestOfFiftyReplaysAtOnceOneWins(t *testing.T) {
	t.Parallel()
	db := open(t)
	r := receipt()
	db.record(deadLetter(r))
	id := db.deadLetterOf(r).ID
	var wins atomic.Int32
	var group errgroup.Group
	for range 50 {
		group.Go(func() error {
			err := db.tryTake(id)
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
	require.Equal(t, 1, value[int](db, `SELECT count(*) FROM audit_log WHERE action = 'dead_letter.replay'`),
		"what was refused has changed nothing")

	require.NoError(t, db.DeadLetters.Release(t.Context(), "replay-1", id))
	db.take(id)
	require.NoError(t, db.DeadLetters.Release(t.Context(), "somebody else", id))
	require.Error(t, db.tryTake(id), "only its owner gives it back")

	db.exec(`UPDATE dead_letters SET replaying_since = now() - interval '15 minutes'`)
	require.NoError(t, db.tryTake(id), "one whose replay was lost can be taken over")

	require.NoError(t, db.UpsertEntitiesAfterPersist(r))
	var refused *event.StateError
	require.ErrorAs(t, db.tryTake(id), &refused)
	require.Equal(t, event.DeadLetterResolved, refused.State)
	require.ErrorIs(t, db.tryTake(id+1), event.ErrNotFound)
}

// A replay is killed after it has claimed a dead letter, and again after it has started its run:
//   - the first time it is found as not started, the second time it is not
func TestClaimedButUnstartedEventsAreFound(t *testing.T) {
	t.Parallel()
	db := open(t)
	r := receipt()
	db.record(deadLetter(r))
	id := db.deadLetterOf(r).ID
	db.take(id)
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
	db := open(t)
	r := receipt()
	db.record(deadLetter(r))
	db.exec(`UPDATE dead_letters SET state = 'exhausted'`)
	db.record(died(r, noon.Add(time.Hour)))
	require.Equal(t, event.DeadLetterExhausted, db.deadLetterOf(r).State)
	require.Equal(t, 2, db.deadLetterOf(r).Failures)
	counts, err := db.DeadLetters.OpenDeadLetters(t.Context())
	require.NoError(t, err)
	require.Equal(t, map[string]int64{"acme": 1}, counts)

	require.NoError(t, db.UpsertEntitiesAfterPersist(r))
	require.Equal(t, event.DeadLetterResolved, db.deadLetterOf(r).State)
	require.Equal(t, 1, value[int](db, `SELECT count(*) FROM dead_letters`))
}

// A failing replay leaves one open row with one more failure.
func TestAFailingReplayLeavesOneOpenRow(t *testing.T) {
	t.Parallel()
	db := open(t)
	r := receipt()
	db.record(deadLetter(r))
	db.take(db.deadLetterOf(r).ID)
	db.record(died(r, noon.Add(time.Hour)))
	require.Equal(t, event.DeadLetterOpen, db.deadLetterOf(r).State)
	require.Equal(t, 2, db.deadLetterOf(r).Failures)
	require.Equal(t, 1, value[int](db, `SELECT count(*) FROM dead_letters`))
}
