package deadletters_test

import (
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"holdfast/delivery"
	"holdfast/event"
	"holdfast/event/operation"
	"holdfast/event/oversight"
	"holdfast/persistence/persistencetest"
)

// A replay from its plan to its end:
//   - it claims what matched its filter when it was created, each row once, and nothing later
//   - while runs are open it is not settled; afterwards its counts are stored
func TestTheLifeOfAReplay(t *testing.T) {
	t.Parallel()
	db := persistencetest.Open(t)
	mine := db.Bury(5)
	db.Bury(2, func(d *event.DeadLetter) { d.Receipt.Provider = "other" })
	db.Bury(1, func(d *event.DeadLetter) { d.Failure.Class = event.ClassFailed })
	filter := operation.ReplayFilter{
		Provider: "acme", Type: "thing.changed", Class: event.ClassRejected, Code: "malformed_json", Step: event.StepParse,
		Since: noon, Until: noon.Add(time.Hour),
	}

	plan, err := db.Replays.Plan(t.Context(), filter)
	require.NoError(t, err)
	require.Equal(t, operation.ReplayPlan{
		Count: 5, Oldest: &noon, ByClass: map[event.Class]int64{event.ClassRejected: 5}, ByProvider: map[string]int64{"acme": 5},
	}, plan)
	made := db.CreateReplay("one", filter)
	require.Equal(t, operation.Running, made.State)
	require.EqualValues(t, 5, made.Total)
	require.Equal(t, filter, made.Filter)
	late := db.Bury(1)[0]

	ids := db.ClaimAll("one", 2)
	require.Len(t, ids, 5)
	require.Equal(t, event.DeadLetterOpen, db.DeadLetterOf(late).State)
	require.NoError(t, db.DeadLetters.MarkStarted(t.Context(), "one", map[int64]string{ids[0]: "run"}))

	db.ProcessAgain(mine[0])
	db.Record(died(mine[1], noon.Add(2*time.Hour)))
	r, settled, err := db.Replays.Settle(t.Context(), "one")
	require.NoError(t, err)
	require.False(t, settled)
	require.Equal(t, []int64{1, 1, 3}, []int64{r.Done, r.Failed, r.InFlight})
	require.Equal(t, operation.Running, r.State)
	require.Empty(t, db.ClaimAll("one", 2), "it never takes a row twice, also not one that has failed again")

	require.NoError(t, db.DeadLetters.Release(t.Context(), "one", ids[2]))
	for _, rescued := range mine[3:] {
		db.ProcessAgain(rescued)
	}
	r, settled, err = db.Replays.Settle(t.Context(), "one")
	require.NoError(t, err)
	require.True(t, settled)
	require.Equal(t, operation.Completed, r.State)
	require.Equal(t, []int64{3, 1, 0, 1}, []int64{r.Done, r.Failed, r.InFlight, r.Skipped})
	require.NotNil(t, r.EndedAt)

	db.Exec(`DELETE FROM dead_letters`)
	r, err = db.Replays.Read(t.Context(), "one")
	require.NoError(t, err)
	require.EqualValues(t, 3, r.Done, "what became of it outlives the rows")
	unsettled, err := db.Replays.Active(t.Context())
	require.NoError(t, err)
	require.Empty(t, unsettled)
}

// Two replays of the same rows at the same time, with several attempts each:
//   - each row is claimed once, by one of them
func TestTwoReplaysShareTheRows(t *testing.T) {
	t.Parallel()
	db := persistencetest.Open(t)
	db.Bury(60)
	db.CreateReplay("one", operation.ReplayFilter{})
	db.CreateReplay("two", operation.ReplayFilter{})
	var mu sync.Mutex
	var all []int64
	var group errgroup.Group
	for _, id := range []string{"one", "two", "one", "two"} {
		group.Go(func() error {
			for {
				page, err := db.Replays.ClaimPage(t.Context(), id, 3, 1000)
				if err != nil || page.Drained {
					return err
				}
				mu.Lock()
				for _, letter := range page.DeadLetters {
					all = append(all, letter.ID)
				}
				mu.Unlock()
			}
		})
	}
	require.NoError(t, group.Wait())
	slices.Sort(all)
	require.Len(t, all, 60)
	require.Len(t, slices.Compact(all), 60)
}

// A paused replay claims nothing until it is resumed; a canceled one never does:
//   - each change is audited, and one that has ended is not changed
func TestAReplayIsPausedResumedAndCanceled(t *testing.T) {
	t.Parallel()
	db := persistencetest.Open(t)
	mine := db.Bury(3)
	db.CreateReplay("one", operation.ReplayFilter{})
	change := func(to operation.State) error {
		_, err := db.Replays.Change(t.Context(), "one", to, oversight.Actor{Name: "ada", Reason: "traffic"})
		return err
	}
	require.NoError(t, change(operation.Paused))
	require.Empty(t, db.ClaimAll("one", 1))
	require.NoError(t, change(operation.Running))
	page, err := db.Replays.ClaimPage(t.Context(), "one", 1, 1000)
	require.NoError(t, err)
	require.Len(t, page.DeadLetters, 1)
	require.NoError(t, change(operation.Canceled))
	require.Empty(t, db.ClaimAll("one", 1))
	require.Equal(t, "replay_ended", event.CodeOf(change(operation.Running)))

	_, settled, err := db.Replays.Settle(t.Context(), "one")
	require.NoError(t, err)
	require.False(t, settled, "its run is open")
	db.ProcessAgain(mine[0])
	r, settled, err := db.Replays.Settle(t.Context(), "one")
	require.NoError(t, err)
	require.True(t, settled)
	require.Equal(t, operation.Canceled, r.State)
	require.EqualValues(t, 1, r.Done)
	require.Equal(t, 4, persistencetest.Value[int](db, `SELECT count(*) FROM audit_log WHERE object = 'replay:one'`))

	all, err := db.Replays.Latest(t.Context(), 10)
	require.NoError(t, err)
	require.Len(t, all, 1)
	_, err = db.Replays.Read(t.Context(), "none")
	require.ErrorIs(t, err, event.ErrNotFound)
}

// The number of open runs is limited.
func TestAReplayIsBoundedByItsOpenRuns(t *testing.T) {
	t.Parallel()
	db := persistencetest.Open(t)
	mine := db.Bury(5)
	db.CreateReplay("one", operation.ReplayFilter{})
	take := func() int {
		page, err := db.Replays.ClaimPage(t.Context(), "one", 2, 3)
		require.NoError(t, err)
		require.False(t, page.Drained)
		return len(page.DeadLetters)
	}
	require.Equal(t, []int{2, 1, 0}, []int{take(), take(), take()})
	db.ProcessAgain(mine[0])
	require.Equal(t, 1, take())
}

// A replay doesn't wait for deliveries to a paused destination: it continues with those for others, and ends.
func TestAReplayDoesNotWaitForAPausedDestination(t *testing.T) {
	t.Parallel()
	db := persistencetest.Open(t)
	ctx := t.Context()
	db.Destination(1, delivery.Destination{})
	letters := []event.DeadLetter{db.BuryDelivery(1), db.BuryDelivery(1), db.BuryDelivery(1)}
	_, err := db.Subscriptions.SetDestinationState(ctx, "d1", delivery.DestinationPaused, ada)
	require.NoError(t, err)
	db.CreateReplay("one", operation.ReplayFilter{})
	for range letters {
		page, err := db.Replays.ClaimPage(ctx, "one", 1, 1)
		require.NoError(t, err)
		require.Len(t, page.DeadLetters, 1, "those before are not under way")
		require.NoError(t, db.Outbox.Redeliver(ctx, page.DeadLetters[0].Receipt.ID, 1))
	}
	page, err := db.Replays.ClaimPage(ctx, "one", 1, 1)
	require.NoError(t, err)
	require.True(t, page.Drained)
	r, settled, err := db.Replays.Settle(ctx, "one")
	require.NoError(t, err)
	require.True(t, settled)
	require.EqualValues(t, 3, r.Skipped)

	_, err = db.Subscriptions.SetDestinationState(ctx, "d1", delivery.DestinationReady, ada)
	require.NoError(t, err)
	db.Settle(persistencetest.Each(db.Lease(10, 10), delivery.OK, "200")...)
	require.Equal(t, 3, persistencetest.Value[int](db, `SELECT count(*) FROM dead_letters WHERE state = 'resolved'`), "and it is delivered in the end")
}

// A replay whose deliveries are blocked by a destination names it, until that accepts events again.
func TestAReplaySaysWhichDestinationBlocksIt(t *testing.T) {
	t.Parallel()
	db := persistencetest.Open(t)
	ctx := t.Context()
	db.Destination(1, delivery.Destination{})
	db.BuryDelivery(1)
	db.CreateReplay("one", operation.ReplayFilter{})
	page, err := db.Replays.ClaimPage(ctx, "one", 1, 1)
	require.NoError(t, err)
	require.NoError(t, db.Outbox.Redeliver(ctx, page.DeadLetters[0].Receipt.ID, 1))
	blocked := func() []string {
		r, err := db.Replays.Read(ctx, "one")
		require.NoError(t, err)
		require.EqualValues(t, 1, r.InFlight)
		return r.BlockedBy
	}
	require.Empty(t, blocked())
	db.Exec(`UPDATE destination_states SET breaker = 'open', open_until = now() + interval '1 h'`)
	require.Equal(t, []string{"d1"}, blocked())
	db.Exec(`UPDATE destination_states SET breaker = 'closed'`)
	require.Empty(t, blocked())
	_, err = db.Subscriptions.SetDestinationState(ctx, "d1", delivery.DestinationPaused, ada)
	require.NoError(t, err)
	require.Equal(t, []string{"d1"}, blocked())
}
