package dispatch

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/delivery"
)

// desk leases and ends attempts on a clock of its own.
type desk struct {
	*shares
	at time.Time
}

func newDesk(size int) *desk {
	d := &desk{at: time.Unix(0, 0)}
	d.shares = newShares(size, 64<<20, func() time.Time { return d.at })
	return d
}

// lease gives slots for what waits, in the order of the destinations, and begins the attempts.
func (d *desk) lease(waiting map[int64]int, order ...int64) map[int64][]*slot {
	want := d.capacity()
	var looked []int64
	for _, id := range order {
		if waiting[id] > 0 && !slices.Contains(want.Without, id) && (want.Only == nil || slices.Contains(want.Only, id)) {
			looked = append(looked, id)
		}
	}
	var jobs []delivery.Job
	for i, capacity := range want.Room(looked) {
		id := looked[i]
		for range min(capacity, waiting[id], want.Limit-len(jobs)) {
			jobs = append(jobs, delivery.Job{DestinationID: id})
		}
	}
	inUse := map[int64][]*slot{}
	for _, o := range d.claim(jobs) {
		o.begin()
		inUse[o.destination] = append(inUse[o.destination], o)
		waiting[o.destination]--
	}
	return inUse
}

func (d *desk) ends(kind delivery.Kind, all ...*slot) {
	for _, o := range all {
		o.end(delivery.Result{Kind: kind})
	}
	d.free(all)
}

// prove lets a destination succeed until its window is n.
func (d *desk) prove(id int64, n int) {
	for d.records[id] == nil || d.records[id].window < n {
		d.ends(delivery.OK, d.lease(map[int64]int{id: n}, id)[id]...)
	}
}

func (d *desk) onSlow(span time.Duration) { d.at = d.at.Add(span) }

// A destination has one attempt under way until one has succeeded. From then on its window grows with each success while it is
// used, and halves with each failure.
func TestAWindowGrowsWithSuccess(t *testing.T) {
	t.Parallel()
	d := newDesk(64)
	waiting := map[int64]int{1: 1000}
	for _, n := range []int{1, 2, 4, 8, 16} {
		inUse := d.lease(waiting, 1)[1]
		require.Len(t, inUse, n)
		require.Empty(t, d.lease(waiting, 1)[1])
		d.ends(delivery.OK, inUse...)
	}
	require.Len(t, d.lease(waiting, 1)[1], 32)
	require.Empty(t, d.lease(waiting, 1)[1], "half of the slots are free for others")

	for range 100 {
		d.ends(delivery.OK, d.lease(map[int64]int{3: 1}, 3)[3]...)
	}
	require.Len(t, d.lease(map[int64]int{3: 1000}, 3)[3], 2, "it never needed more")

	failing := d.lease(map[int64]int{2: 1}, 2)[2]
	require.Len(t, failing, 1)
	d.ends(delivery.Bad, failing...)
	require.Len(t, d.lease(map[int64]int{2: 10}, 2)[2], 1)
}

// A proven destination that stops responding keeps its slots, gets one at a time, and takes none from others. It is proven again
// once none of its attempts is slow and one has succeeded in time.
func TestAProvenDestinationThatHangsKeepsNothingFromOthers(t *testing.T) {
	t.Parallel()
	d := newDesk(64)
	for id := range int64(6) {
		d.prove(id, 32)
	}
	var hanging []*slot
	for id := range int64(5) {
		hanging = append(hanging, d.lease(map[int64]int{id: 1000}, id)[id]...)
	}
	require.NotEmpty(t, d.lease(map[int64]int{5: 1}, 5)[5], "before anybody is late")
	d.onSlow(slowAfter + time.Millisecond)
	inUse := d.lease(map[int64]int{0: 10, 5: 1000, 6: 1}, 0, 5, 6)
	require.Len(t, inUse[0], 1)
	require.Len(t, inUse[5], 1, "one of its own is late")
	require.Len(t, inUse[6], 1)
	d.prove(7, 32)
	others := d.lease(map[int64]int{7: 1000}, 7)[7]
	require.Len(t, others, 32, "as if the others weren't there")
	d.ends(delivery.OK, others...)

	d.ends(delivery.OK, inUse[0]...)
	require.Len(t, d.lease(map[int64]int{0: 10}, 0)[0], 1, "others of it are late")
	d.ends(delivery.OK, hanging...)
	require.Len(t, d.lease(map[int64]int{1: 10}, 1)[1], 1, "it took too long")
}

// However many destinations hang that never succeeded, one that is new gets a slot within provenWithin, and those that have failed
// reserve half of the slots at most.
func TestANewDestinationProvesItselfSoon(t *testing.T) {
	t.Parallel()
	d := newDesk(64)
	waiting := map[int64]int{}
	var sick []int64
	for id := range int64(200) {
		sick, waiting[id] = append(sick, id), 1000
	}
	require.Len(t, d.lease(waiting, sick...), 32)
	require.Empty(t, d.lease(map[int64]int{1000: 1}, 1000))
	d.onSlow(slowAfter + time.Millisecond)
	require.Len(t, d.lease(map[int64]int{1000: 1}, 1000)[1000], 1)
	require.Empty(t, d.lease(waiting, sick[:32]...), "each of these hangs")

	d = newDesk(64)
	for _, id := range sick {
		d.ends(delivery.Bad, d.lease(map[int64]int{id: 1}, id)[id]...)
	}
	require.Len(t, d.lease(waiting, sick...), 32)
	d.onSlow(slowAfter + time.Millisecond)
	require.Empty(t, d.lease(waiting, sick...))
	require.Len(t, d.lease(map[int64]int{1000: 1}, 1000)[1000], 1)
}

// A destination that was idle for a day is what it was.
func TestAnIdleDestinationStaysProven(t *testing.T) {
	t.Parallel()
	d := newDesk(64)
	d.prove(1, 8)
	d.onSlow(24 * time.Hour)
	require.Len(t, d.lease(map[int64]int{1: 100}, 1)[1], 8)
}

// An attempt that missed its start time never began, and says nothing of its destination.
func TestAMissedStartDoesNotCountAgainstItsDestination(t *testing.T) {
	t.Parallel()
	d := newDesk(64)
	d.prove(1, 8)
	for _, o := range d.lease(map[int64]int{1: 2}, 1)[1] {
		o.began = time.Time{}
		d.ends(delivery.Ours, o)
	}
	require.Len(t, d.lease(map[int64]int{1: 100}, 1)[1], 8)
}

// A freed slot wakes the dispatcher only if a destination may have got fewer slots than it could use: each lease is a
// transaction.
func TestOnlyWhoWasRefusedIsLookedForAgain(t *testing.T) {
	t.Parallel()
	asked := func(d *desk) bool {
		select {
		case <-d.wake:
			return true
		default:
			return false
		}
	}
	d := newDesk(16)
	d.prove(1, 8)
	asked(d)
	d.ends(delivery.OK, d.lease(map[int64]int{1: 2}, 1)[1]...)
	require.False(t, asked(d), "there was room")
	d.ends(delivery.OK, d.lease(map[int64]int{1: 100}, 1)[1]...)
	require.True(t, asked(d), "the lease may have left some")
	d.ends(delivery.OK, d.lease(map[int64]int{2: 1}, 2)[2]...)
	require.True(t, asked(d), "a new one has room for one")

	waiting := map[int64]int{}
	for id := range int64(8) {
		waiting[10+id] = 1
	}
	inUse := d.lease(waiting, 10, 11, 12, 13, 14, 15, 16, 17)
	require.Len(t, inUse, 8)
	require.Empty(t, d.lease(map[int64]int{20: 1}, 20))
	d.onSlow(slowAfter + time.Millisecond)
	inUse[10][0].onSlow()
	require.True(t, asked(d), "a late one lets new ones begin")
	require.Len(t, d.lease(map[int64]int{20: 1}, 20)[20], 1)
}

// A destination uses at most an eighth of the memory, or one body of any size; unproven ones leave half of it to the others. None
// of them blocks.
func TestMemoryIsShared(t *testing.T) {
	t.Parallel()
	const mib = 1 << 20
	d := newDesk(64)
	d.prove(1, 32)
	heldBytes := 0
	inUse := d.lease(map[int64]int{1: 1000}, 1)[1]
	require.Len(t, inUse, 32)
	for _, o := range inUse {
		if o.reserve(&payload{bytes: mib}) {
			heldBytes++
		}
	}
	require.Equal(t, 8, heldBytes)
	require.Less(t, d.records[1].window, 32, "it leases no more than it may hold")

	for id := int64(10); id < 40; id++ {
		if d.lease(map[int64]int{id: 1}, id)[id][0].reserve(&payload{bytes: 4 * mib}) {
			heldBytes += 4
		}
	}
	require.Equal(t, 32, heldBytes)
	d.prove(2, 2)
	b := &payload{bytes: 24 * mib}
	o := d.lease(map[int64]int{2: 1}, 2)[2][0]
	require.True(t, o.reserve(b))
	other := d.lease(map[int64]int{50: 1}, 50)[50][0]
	require.True(t, other.reserve(b), "one body is held once")
	o.release(b)
	require.EqualValues(t, 56*mib, d.heldBytes)
	other.release(b)
	require.EqualValues(t, 32*mib, d.heldBytes)
}

// What a destination gets depends on itself: twenty healthy ones get the same at the same moments, whatever two hundred others do that
// come two seconds later.
func TestAShareDependsOnItsOwnRecord(t *testing.T) {
	t.Parallel()
	for seed := range uint64(6) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			alone, beside := simulate(seed, 0), simulate(seed, 200)
			require.Equal(t, alone, beside)
		})
	}
}

// simulate returns how much each of 20 healthy destinations got in each 10 ms of a minute, next to failing ones: they hang,
// refuse, respond slowly, or were healthy for a while.
func simulate(seed uint64, sick int64) (got []int) {
	const tick, healthy = 10 * time.Millisecond, 20
	d, load, faults := newDesk(256), rand.New(rand.NewPCG(seed, 1)), rand.New(rand.NewPCG(seed, 2))
	waiting, due := map[int64]int{}, map[time.Time]map[*slot]delivery.Kind{}
	var order []int64
	for id := range healthy + sick {
		order = append(order, id)
	}
	for range 6000 {
		d.onSlow(tick)
		for o, kind := range due[d.at] {
			d.ends(kind, o)
		}
		delete(due, d.at)
		for id := range int64(healthy) {
			if load.IntN(4) == 0 {
				waiting[id] += load.IntN(3)
			}
		}
		for id := int64(healthy); id < healthy+sick && d.at.After(time.Unix(2, 0)); id++ {
			waiting[id]++
		}
		faults.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
		inUse := d.lease(waiting, order...)
		for id := range healthy + sick {
			for i, o := range inUse[id] {
				took, kind := tick*time.Duration(1+i%2), delivery.OK
				if id >= healthy {
					took, kind = fate(id, d.at, tick)
				}
				if due[d.at.Add(took)] == nil {
					due[d.at.Add(took)] = map[*slot]delivery.Kind{}
				}
				due[d.at.Add(took)][o] = kind
			}
			if id < healthy {
				got = append(got, len(inUse[id]))
			}
		}
	}
	return got
}

// fate is how an attempt of a sick destination ends. One of five was healthy for up to 50 s.
func fate(id int64, at time.Time, tick time.Duration) (time.Duration, delivery.Kind) {
	switch {
	case id%5 == 0 && at.Before(time.Unix(id%50, 0)):
		return tick, delivery.OK
	case id%3 == 0:
		return tick, delivery.Bad
	case id%3 == 1:
		return 14 * time.Second, delivery.OK
	default:
		return 15 * time.Second, delivery.Bad
	}
}
