package intake

import (
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/event"
)

// commit commits an event to the lane like a request does.
func commit(b *BulkStarter, id string) {
	b.Expect(id)
	b.Wake()
}

func batchOf(ids ...string) (events []event.Batched) {
	for _, id := range ids {
		events = append(events, event.Batched{Receipt: event.Receipt{ID: id, ReceivedAt: time.Now()}})
	}
	return events
}

// gathered returns how long a run gathers events, and fails unless there are more to claim.
func gathered(t *testing.T, b *BulkStarter) time.Duration {
	t.Helper()
	start := time.Now()
	require.True(t, b.Gather(t.Context(), start.Add(time.Second)))
	return time.Since(start)
}

// waited returns how long a run waits in vain.
func waited(t *testing.T, b *BulkStarter) time.Duration {
	t.Helper()
	start := time.Now()
	require.False(t, b.Gather(t.Context(), start.Add(time.Second)))
	return time.Since(start)
}

// A run gathers for a fixed time after the first event, however long it has waited for that, and whatever comes meanwhile.
func TestABatchGathersAfterItsFirstEvent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := NewBulkStarter(nil, nil, 10, 1)
		defer b.Stop()
		commit(b, "1")
		b.BatchEnded(batchOf("1"))
		require.Equal(t, time.Second, waited(t, b), "nothing comes, and nothing is looked for until the run ends")

		time.AfterFunc(200*time.Millisecond, func() { commit(b, "2") })
		time.AfterFunc(210*time.Millisecond, func() { commit(b, "3") })
		require.Equal(t, 200*time.Millisecond+gatherFor, gathered(t, b))
		b.BatchEnded(batchOf("2", "3"))

		commit(b, "4") // while a transaction runs
		elapse(10 * time.Millisecond)
		b.BatchEnded(nil)
		require.Equal(t, gatherFor-10*time.Millisecond, gathered(t, b))

		commit(b, "5")
		elapse(gatherFor + time.Millisecond)
		require.Zero(t, gathered(t, b), "it has waited long enough")
		b.BatchEnded(batchOf("4", "5"))

		time.AfterFunc(time.Second-time.Millisecond, func() { commit(b, "6") })
		require.Equal(t, time.Second-time.Millisecond+gatherFor, gathered(t, b), "the run ends behind the batch")
		require.False(t, b.Gather(t.Context(), time.Now().Add(-time.Millisecond)))
	})
}

// Other processes don't signal their events, so a run polls while they fill the lane.
func TestARunPollsForEventsOfOtherProcesses(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := NewBulkStarter(nil, nil, 10, 1)
		defer b.Stop()
		require.Equal(t, othersPoll, gathered(t, b), "this process has received none")
		commit(b, "1")
		b.BatchEnded(batchOf("1", "of another process"))
		require.Equal(t, othersPoll, gathered(t, b))
		elapse(othersFor)
		commit(b, "2")
		require.Equal(t, gatherFor, gathered(t, b))
	})
}

// An event that wasn't committed, or that another process has claimed, isn't waited for.
func TestEventsThatAreGoneAreForgotten(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := NewBulkStarter(nil, nil, 10, 1)
		defer b.Stop()
		b.Expect("refused")()
		require.Empty(t, b.arrivals.at)
		commit(b, "claimed elsewhere")
		elapse(forgetAfter + time.Second)
		b.BatchEnded(nil)
		require.Empty(t, b.arrivals.at)
		require.Empty(t, b.arrivals.signal)
		(*BulkStarter)(nil).Expect("an ingress without workers")()
	})
}

// Gathering ends with the starter, so that a stop needn't wait for it.
func TestGatheringEndsWithTheStarter(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := NewBulkStarter(nil, nil, 10, 1)
		commit(b, "1")
		b.BatchEnded(batchOf("1"))
		time.AfterFunc(time.Millisecond, b.Stop)
		require.Equal(t, time.Millisecond, waited(t, b))
	})
}

// While no batch claims anything, few events stay in memory.
func TestArrivalsAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := NewBulkStarter(nil, nil, 10, 1)
		defer b.Stop()
		for i := range 3*maxArrivals + 1 {
			commit(b, strconv.Itoa(i))
		}
		require.LessOrEqual(t, len(b.arrivals.at), maxArrivals)
		require.False(t, b.arrivals.areAll(), "a run polls: it isn't known what others have claimed")
	})
}
