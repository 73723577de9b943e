package dispatch

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/delivery"
)

// Second attempts leave a quarter of the slots to first ones.
func TestSlotsAreKeptForFirstAttempts(t *testing.T) {
	t.Parallel()
	s := newSlots(16)
	again := make([]delivery.Job, 12)
	for i := range again {
		again[i] = delivery.Job{DestinationID: int64(i), Attempts: 1}
	}
	want := s.room()
	require.Equal(t, 12, want.Limit)
	require.False(t, want.First)
	taken := s.take(want, again)
	want = s.room()
	require.Equal(t, 4, want.Limit)
	require.True(t, want.First)
	require.Len(t, want.Busy, 12)
	s.free(taken[:2])
	require.False(t, s.room().First)
	require.Equal(t, 2, s.room().Limit)
}

// An attempt that is late gives up its slot for a slow one, of which there are as many; then slow destinations get nothing.
func TestLateAttemptsMoveToSlowSlots(t *testing.T) {
	t.Parallel()
	s := newSlots(4)
	taken := s.take(s.room(), []delivery.Job{{DestinationID: 1}, {DestinationID: 2}, {DestinationID: 3}})
	for range 2 {
		for _, o := range taken {
			o.isLate()
		}
	}
	fast, slow := s.underWay()
	require.Equal(t, []int{0, 3}, []int{fast, slow})
	s.free(taken[2:])
	taken[2].isLate()
	fast, slow = s.underWay()
	require.Equal(t, []int{0, 2}, []int{fast, slow}, "it has ended")

	for range 2 {
		taken[0].took(3 * time.Second)
	}
	more := s.take(s.room(), []delivery.Job{{DestinationID: 1}, {DestinationID: 1}, {DestinationID: 4}})
	fast, slow = s.underWay()
	require.Equal(t, []int{1, 4}, []int{fast, slow})
	want := s.room()
	require.Equal(t, map[int64]int{1: want.Share, 2: 1, 4: 1}, want.Busy)
	for range lookedAt {
		more[0].took(time.Second)
	}
	require.Equal(t, 3, s.room().Busy[1], "it is no longer slow")
}

// A slot that ends makes the dispatcher look again only if somebody was refused one: each look is a transaction.
func TestOnlyWhoWasRefusedIsLookedForAgain(t *testing.T) {
	t.Parallel()
	asked := func(s *slots) bool {
		select {
		case <-s.look:
			return true
		default:
			return false
		}
	}
	s := newSlots(8)
	taken := s.take(s.room(), []delivery.Job{{DestinationID: 1}, {DestinationID: 2}})
	s.free(taken)
	require.False(t, asked(s), "there was room")

	want := s.room()
	first := s.take(want, []delivery.Job{{DestinationID: 1}, {DestinationID: 1}, {DestinationID: 1}})
	want = s.room()
	s.free(first[:2]) // while a lease takes the last one of its share
	require.False(t, asked(s))
	last := s.take(want, []delivery.Job{{DestinationID: 1}})
	s.free(last)
	require.True(t, asked(s), "the lease may have left some of its destination")
	s.free(first[2:])
	require.False(t, asked(s))

	var jobs []delivery.Job
	for id := range int64(8) {
		jobs = append(jobs, delivery.Job{DestinationID: id})
	}
	s.free(s.take(s.room(), jobs)[:1])
	require.True(t, asked(s), "there was no room")
}
