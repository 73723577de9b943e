package persistence_test

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
)

// bury records n dead letters that failed a minute apart.
func (d *database) bury(n int, change ...func(*event.DeadLetter)) (receipts []event.Receipt) {
	d.t.Helper()
	for i := range n {
		r := receipt()
		letter := died(r, noon.Add(time.Duration(i)*time.Minute))
		for _, c := range change {
			c(&letter)
		}
		d.record(letter)
		receipts = append(receipts, letter.Receipt)
	}
	return receipts
}

func (d *database) createReplay(id string, f operation.ReplayFilter) operation.Replay {
	d.t.Helper()
	r, err := d.Replays.Create(d.t.Context(), operation.Replay{Base: operation.Base{ID: id, Rate: 50}, Filter: f}, oversight.Actor{Name: "ada"})
	require.NoError(d.t, err)
	return r
}

// takeAll claims what is left for a replay, n at a time.
func (d *database) takeAll(id string, n int) (ids []int64) {
	d.t.Helper()
	for {
		page, err := d.Replays.ClaimPage(d.t.Context(), id, n, 1000)
		require.NoError(d.t, err)
		if page.Drained || page.State != operation.Running {
			return ids
		}
		for _, letter := range page.DeadLetters {
			require.NotEmpty(d.t, letter.Body)
			ids = append(ids, letter.ID)
		}
	}
}

// A replay from its plan to its end:
//   - it claims what matched its filter when it was created, each row once, and nothing later
//   - while runs are open it is not settled; afterwards its counts are stored
func TestTheLifeOfAReplay(t *testing.T) {
	t.Parallel()
	db := open(t)
	mine := db.bury(5)
	db.bury(2, func(d *event.DeadLetter) { d.Receipt.Provider = "other" })
	db.bury(1, func(d *event.DeadLetter) { d.Failure.Class = event.ClassFailed })
	filter := operation.ReplayFilter{
		Provider: "acme", Type: "thing.changed", Class: event.ClassRejected, Code: "malformed_json", Step: event.StepParse,
		Since: noon, Until: noon.Add(time.Hour),
	}

	plan, err := db.Replays.Plan(t.Context(), filter)
	require.NoError(t, err)
	require.Equal(t, operation.ReplayPlan{
		Count: 5, Oldest: &noon, ByClass: map[event.Class]int64{event.ClassRejected: 5}, ByProvider: map[string]int64{"acme": 5},
	}, plan)
	made := db.createReplay("one", filter)
	require.Equal(t, operation.Running, made.State)
	require.EqualValues(t, 5, made.Total)
	require.Equal(t, filter, made.Filter)
	late := db.bury(1)[0]

	ids := db.takeAll("one", 2)
	require.Len(t, ids, 5)
	require.Equal(t, event.DeadLetterOpen, db.deadLetterOf(late).State)
	require.NoError(t, db.DeadLetters.MarkStarted(t.Context(), "one", map[int64]string{ids[0]: "run"}))

	require.NoError(t, db.UpsertEntitiesAfterPersist(mine[0]))
	db.record(died(mine[1], noon.Add(2*time.Hour)))
	r, settled, err := db.Replays.Settle(t.Context(), "one")
	require.NoError(t, err)
	require.False(t, settled)
	require.Equal(t, []int64{1, 1, 3}, []int64{r.Done, r.Failed, r.InFlight})
	require.Equal(t, operation.Running, r.State)
	require.Empty(t, db.takeAll("one", 2), "it never takes a row twice, also not one that has failed again")

	require.NoError(t, db.DeadLetters.Release(t.Context(), "one", ids[2]))
	for _, rescued := range mine[3:] {
		require.NoError(t, db.UpsertEntitiesAfterPersist(rescued))
	}
	r, settled, err = db.Replays.Settle(t.Context(), "one")
	require.NoError(t, err)
	require.True(t, settled)
	require.Equal(t, operation.Completed, r.State)
	require.Equal(t, []int64{3, 1, 0, 1}, []int64{r.Done, r.Failed, r.InFlight, r.Skipped})
	require.NotNil(t, r.EndedAt)

	db.exec(`DELETE FROM dead_letters`)
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
	db := open(t)
	db.bury(60)
	db.createReplay("one", operation.ReplayFilter{})
	db.createReplay("two", operation.ReplayFilter{})
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
	db := open(t)
	mine := db.bury(3)
	db.createReplay("one", operation.ReplayFilter{})
	change := func(to operation.State) error {
		_, err := db.Replays.Change(t.Context(), "one", to, oversight.Actor{Name: "ada", Reason: "traffic"})
		return err
	}
	require.NoError(t, change(operation.Paused))
	require.Empty(t, db.takeAll("one", 1))
	require.NoError(t, change(operation.Running))
	page, err := db.Replays.ClaimPage(t.Context(), "one", 1, 1000)
	require.NoError(t, err)
	require.Len(t, page.DeadLetters, 1)
	require.NoError(t, change(operation.Canceled))
	require.Empty(t, db.takeAll("one", 1))
	require.Equal(t, "replay_ended", event.CodeOf(change(operation.Running)))

	_, settled, err := db.Replays.Settle(t.Context(), "one")
	require.NoError(t, err)
	require.False(t, settled, "its run is open")
	require.NoError(t, db.UpsertEntitiesAfterPersist(mine[0]))
	r, settled, err := db.Replays.Settle(t.Context(), "one")
	require.NoError(t, err)
	require.True(t, settled)
	require.Equal(t, operation.Canceled, r.State)
	require.EqualValues(t, 1, r.Done)
	require.Equal(t, 4, value[int](db, `SELECT count(*) FROM audit_log WHERE object = 'replay:one'`))

	all, err := db.Replays.Latest(t.Context(), 10)
	require.NoError(t, err)
	require.Len(t, all, 1)
	_, err = db.Replays.Read(t.Context(), "none")
	require.ErrorIs(t, err, event.ErrNotFound)
}

// The number of open runs is limited.
func TestAReplayIsBoundedByItsOpenRuns(t *testing.T) {
	t.Parallel()
	db := open(t)
	mine := db.bury(5)
	db.createReplay("one", operation.ReplayFilter{})
	take := func() int {
		page, err := db.Replays.ClaimPage(t.Context(), "one", 2, 3)
		require.NoError(t, err)
		require.False(t, page.Drained)
		return len(page.DeadLetters)
	}
	require.Equal(t, []int{2, 1, 0}, []int{take(), take(), take()})
	require.NoError(t, db.UpsertEntitiesAfterPersist(mine[0]))
	require.Equal(t, 1, take())
}

// A replay doesn't wait for deliveries to a paused destination: it continues with those for others, and ends.
func TestAReplayDoesNotWaitForAPausedDestination(t *testing.T) {
	t.Parallel()
	db := open(t)
	ctx := t.Context()
	db.destination(1, delivery.Destination{})
	letters := []event.DeadLetter{db.buryDelivery(1), db.buryDelivery(1), db.buryDelivery(1)}
	_, err := db.Subscriptions.SetDestinationState(ctx, "d1", delivery.DestinationPaused, ada)
	require.NoError(t, err)
	db.createReplay("one", operation.ReplayFilter{})
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
	db.settle(each(db.lease(10, 10), delivery.OK, "200")...)
	require.Equal(t, 3, value[int](db, `SELECT count(*) FROM dead_letters WHERE state = 'resolved'`), "and it is delivered in the end")
}

// A replay whose deliveries are blocked by a destination names it, until that accepts events again.
func TestAReplaySaysWhichDestinationBlocksIt(t *testing.T) {
	t.Parallel()
	db := open(t)
	ctx := t.Context()
	db.destination(1, delivery.Destination{})
	db.buryDelivery(1)
	db.createReplay("one", operation.ReplayFilter{})
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
	db.exec(`UPDATE destination_states SET breaker = 'open', open_until = now() + interval '1 h'`)
	require.Equal(t, []string{"d1"}, blocked())
	db.exec(`UPDATE destination_states SET breaker = 'closed'`)
	require.Empty(t, blocked())
	_, err = db.Subscriptions.SetDestinationState(ctx, "d1", delivery.DestinationPaused, ada)
	require.NoError(t, err)
	require.Equal(t, []string{"d1"}, blocked())
}
