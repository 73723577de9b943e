package dispatch

import (
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/delivery"
)

func name(id int64) string { return "host-" + strconv.FormatInt(id, 10) }

func reached(is bool) delivery.Reach {
	if is {
		return delivery.Reached
	}
	return delivery.Unreached
}

// More than half of the destinations that could be reached stop connecting within 30 s: it is us. It ends when they connect again, or
// when it has lasted for so long that they are as good as gone.
func TestWhetherWeAreCutOff(t *testing.T) {
	t.Parallel()
	now := time.Now()
	r := newReach(func(bool, time.Duration) {})
	record := func(host int64, connected bool) bool {
		now = now.Add(time.Second)
		return r.record(name(host), reached(connected), now)
	}
	for id := range int64(10) {
		record(id, true)
	}
	for id := range int64(50) {
		require.False(t, record(100+id, false), "who could never be reached says nothing")
	}
	for id := range int64(10) {
		record(id, true)
	}
	for id := range int64(5) {
		require.False(t, record(id, false))
	}
	require.True(t, record(5, false), "the sixth of ten")
	require.True(t, record(6, false))
	require.True(t, record(0, true))
	require.False(t, record(1, true))

	for range 30 {
		now = now.Add(reachMemory / 30)
		for id := range int64(10) {
			record(id, false)
		}
	}
	require.False(t, record(3, false), "for an hour")
}

// One or two that are down are no sign, even where there are no others.
func TestTwoThatAreDownAreNoSign(t *testing.T) {
	t.Parallel()
	r, now := newReach(func(bool, time.Duration) {}), time.Now()
	for _, connected := range []bool{true, false, false} {
		for id := range int64(2) {
			now = now.Add(time.Second)
			require.False(t, r.record(name(id), reached(connected), now))
		}
	}
}

// Attempts end at the same time: the changes to offline and back are reported in order.
func TestChangesAreReportedInOrder(t *testing.T) {
	t.Parallel()
	var r *reach
	var told []bool
	var after sync.WaitGroup
	r = newReach(func(offline bool, _ time.Duration) {
		if offline { // destinations connect again during the callback
			after.Go(func() {
				for id := range int64(3) {
					r.record(name(id), delivery.Reached, time.Now())
				}
			})
			<-time.After(20 * time.Millisecond)
		}
		told = append(told, offline)
	})
	for id := range int64(3) {
		r.record(name(id), delivery.Reached, time.Now())
	}
	for id := range int64(3) {
		r.record(name(id), delivery.Unreached, time.Now())
	}
	after.Wait()
	require.Equal(t, []bool{true, false}, told)
}

// Results that say nothing about the network change nothing, and all destinations at one host are one sign.
func TestTextsThatAreNotSigns(t *testing.T) {
	t.Parallel()
	r, now := newReach(func(bool, time.Duration) {}), time.Now()
	for id := range int64(3) {
		r.record(name(id), delivery.Reached, now)
	}
	for id := range int64(3) {
		require.False(t, r.record(name(id), delivery.ReachUnknown, now))
	}
	for range 10 {
		require.False(t, r.record(name(1), delivery.Unreached, now))
	}
	one := delivery.Destination{HTTP: &delivery.HTTP{URL: "https://Hooks.example.com:8443/a"}}
	two := delivery.Destination{HTTP: &delivery.HTTP{URL: "https://hooks.example.com/b"}}
	require.Equal(t, hostOf(one), hostOf(two))
	require.NotEqual(t, hostOf(one), hostOf(delivery.Destination{Temporal: &delivery.Temporal{}}))
}
