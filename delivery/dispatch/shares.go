package dispatch

import (
	"sync"
	"time"

	"holdfast/delivery"
)

const (
	// provenWithin is how long an attempt may take that proves its destination. One that takes longer is late.
	provenWithin = 2 * time.Second
	// forgotten is after how long without an attempt nothing is known of a destination any more.
	forgotten = 7 * 24 * time.Hour
	// memoryShare is which part of the memory one destination may hold.
	memoryShare = 8
)

// shares decides how many attempts each destination may have under way in this process, so that no destination harms another.
//
// A destination is proven while its latest attempt succeeded within provenWithin and none under way is older than that. The
// proven ones share as many slots as there are: each may hold as many as are still free, and no more than its window. That grows
// with each success while more than half of it is used, and halves with each failure. So there is always room for one more
// destination, and one that stops answering holds little more than it needed before.
//
// An unproven destination gets one new slot, while all of them hold at most half of the slots. One that was never tried waits
// only for attempts that aren't late yet, so that failing ones can't keep it unproven.
//
// As many slots again are for what stays: late attempts, and those that began while their destination was proven. They take
// nothing from anybody, until all slots are taken twice.
type shares struct {
	size   int
	memory int64
	now    func() time.Time

	mu       sync.Mutex
	records  map[int64]*record
	busy     map[int64]*record // those with something under way
	offered  map[int64]int     // what the last lease was offered, by destination
	limited  bool              // something got nothing for want of slots
	underWay int
	held     int64 // bytes of bodies
	pruned   time.Time
	// look gets a value when it may be of use to lease again.
	look chan struct{}
}

// record is what is known of a destination.
type record struct {
	tried   bool // an attempt has ended
	ok      bool // the latest one succeeded in time
	window  int
	slots   map[*slot]struct{}
	held    int64 // bytes of bodies
	last    time.Time
	refused bool // it may have got less than there was
}

func newShares(size int, memory int64, now func() time.Time) *shares {
	return &shares{
		size: size, memory: memory, now: now, records: map[int64]*record{}, busy: map[int64]*record{}, pruned: now(),
		look: make(chan struct{}, 1),
	}
}

// isProven says whether the destination is proven.
func (r *record) isProven(now time.Time) bool {
	if r == nil || !r.ok {
		return false
	}
	for o := range r.slots {
		if o.isLate(now) {
			return false
		}
	}
	return true
}

// isNew says whether nothing is known of the destination.
func (r *record) isNew(now time.Time) bool {
	if r == nil {
		return true
	}
	for o := range r.slots {
		if o.isLate(now) {
			return false
		}
	}
	return !r.tried
}

// mayTry says whether an unproven destination has no slot that it got as such.
func (r *record) mayTry() bool {
	if r == nil {
		return true
	}
	for o := range r.slots {
		if o.unproven {
			return false
		}
	}
	return true
}

// totals are how many slots are left.
type totals struct {
	now time.Time
	// proven, untried and failing are left for proven destinations, for those that were never tried, and for other unproven ones;
	// all are left of twice the slots.
	proven, untried, failing, all int
}

// totals counts. The caller holds the lock.
func (s *shares) totals() totals {
	half := max(1, s.size/2)
	t := totals{now: s.now(), proven: s.size, untried: half, failing: half, all: 2*s.size - s.underWay}
	for _, r := range s.busy {
		proven := r.isProven(t.now)
		for o := range r.slots {
			switch {
			case proven:
				t.proven--
			case o.unproven && o.isLate(t.now):
				t.failing--
			case o.unproven:
				t.failing--
				t.untried--
			}
		}
	}
	t.untried = min(t.untried, t.all-half)
	t.failing = min(t.failing, t.untried)
	return t
}

// roomOf is how many more attempts of a destination may begin: its own record decides, and what is left.
func (t totals) roomOf(r *record) int {
	switch {
	case r.isProven(t.now):
		return max(0, min(r.window-len(r.slots), (t.proven-len(r.slots)+1)/2, t.all))
	case r.isNew(t.now) && t.untried > 0 && r.mayTry(), t.failing > 0 && r.mayTry():
		return 1
	default:
		return 0
	}
}

// room is what may be leased now. Limit is 0 if there is no room.
func (s *shares) room() delivery.Want {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.totals()
	s.offered = map[int64]int{}
	limit := max(0, min(t.proven, t.all))
	s.limited = limit == 0 || t.untried <= 0 || t.failing <= 0
	want := delivery.Want{Limit: limit, Room: func(ids []int64) []int { return s.offer(t, ids) }}
	if t.untried <= 0 {
		want.Only = []int64{}
	}
	candidates := s.busy
	if t.untried <= 0 || t.failing <= 0 {
		candidates = s.records
	}
	for id, r := range candidates {
		switch room := t.roomOf(r); {
		case room > 0 && want.Only != nil:
			want.Only = append(want.Only, id)
		case room <= 0:
			want.Without = append(want.Without, id)
			r.refused = true
		}
	}
	return want
}

// offer is the room of the destinations of a lease. The proven ones share what is free so that as much is left as each gets, the
// others take one each of what is left for them.
func (s *shares) offer(t totals, ids []int64) []int {
	s.mu.Lock()
	defer s.mu.Unlock()
	proven := 0
	for _, id := range ids {
		if s.records[id].isProven(t.now) {
			proven++
		}
	}
	rooms := make([]int, len(ids))
	for i, id := range ids {
		r := s.records[id]
		rooms[i] = t.roomOf(r)
		switch {
		case r.isProven(t.now):
			rooms[i] = min(rooms[i], max(1, t.proven/(proven+1)))
		case rooms[i] > 0:
			t.untried--
			t.failing--
		}
		s.offered[id] = rooms[i]
	}
	return rooms
}

// take gives slots to what was leased.
func (s *shares) take(jobs []delivery.Job) []*slot {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	proven := map[int64]bool{}
	for _, j := range jobs {
		proven[j.DestinationID] = s.records[j.DestinationID].isProven(now)
	}
	taken := make([]*slot, len(jobs))
	for i, j := range jobs {
		r := s.records[j.DestinationID]
		if r == nil {
			r = &record{window: 1, slots: map[*slot]struct{}{}}
			s.records[j.DestinationID] = r
		}
		s.busy[j.DestinationID] = r
		taken[i] = &slot{of: s, destination: j.DestinationID, record: r, unproven: !proven[j.DestinationID]}
		r.slots[taken[i]] = struct{}{}
		r.last = now
		s.offered[j.DestinationID]--
		r.refused = r.refused || s.offered[j.DestinationID] <= 0
	}
	s.underWay += len(jobs)
	s.prune(now)
	return taken
}

// prune forgets destinations that nothing is sent to.
func (s *shares) prune(now time.Time) {
	if now.Sub(s.pruned) < time.Hour {
		return
	}
	s.pruned = now
	for id, r := range s.records {
		if len(r.slots) == 0 && now.Sub(r.last) >= forgotten {
			delete(s.records, id)
		}
	}
}

// taken is how many slots are taken.
func (s *shares) taken() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.underWay
}

// free gives slots back. It asks for another look only if somebody may have got less than there was: where nobody did, a look
// would find what the last one has left, which is nothing.
func (s *shares) free(all []*slot) {
	s.mu.Lock()
	defer s.mu.Unlock()
	again := s.limited
	for _, o := range all {
		again = again || o.record.refused
		o.record.refused = false
		o.record.last = s.now()
		if delete(o.record.slots, o); len(o.record.slots) == 0 {
			delete(s.busy, o.destination)
		}
	}
	s.underWay -= len(all)
	if again {
		notify(s.look)
	}
}
