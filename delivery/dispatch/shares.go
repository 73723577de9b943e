package dispatch

import (
	"sync"
	"time"

	"holdfast/delivery"
)

const (
	// slowAfter is the max duration of an attempt that proves its destination. Longer attempts are slow.
	slowAfter = 2 * time.Second
	// recordTTL is how long the record of an unused destination is kept.
	recordTTL = 7 * 24 * time.Hour
	// memoryShare is the divisor of the memory that one destination may use.
	memoryShare = 8
)

// shares limits the concurrent attempts of each destination in this process, so that no destination slows down another.
//
// A destination is proven while its latest attempt succeeded within slowAfter and no attempt in flight is slow. Proven
// destinations share as many slots as there are: each may use at most as many as stay free, and at most its window. The window
// grows with each success while more than half of it is used, and halves with each failure. So there is always a slot for one
// more destination, and a destination that stops answering uses little more than it needed before.
//
// An unproven destination gets one new slot, while all of them use at most half of the slots. A destination that was never tried
// waits only for attempts that aren't slow yet, so that failing ones can't keep it unproven.
//
// A second set of as many slots is for slow attempts, and for those that started while their destination was proven. They don't
// use up the slots of others until both sets are full.
type shares struct {
	size   int
	memory int64
	now    func() time.Time

	mu        sync.Mutex
	records   map[int64]*record
	busy      map[int64]*record // those with attempts in flight
	offered   map[int64]int     // offered to the last lease, by destination
	limited   bool              // a destination got none for lack of slots
	leasing   bool              // a lease is under way, which may use all free slots
	closed    bool              // take returns nothing
	inFlight  int
	heldBytes int64 // bytes of bodies
	pruned    time.Time
	// wake receives a value when leasing again may help.
	wake chan struct{}
}

// record holds the history of a destination.
type record struct {
	tried     bool // an attempt has ended
	ok        bool // the latest attempt succeeded and wasn't slow
	window    int
	slots     map[*slot]struct{}
	heldBytes int64 // bytes of bodies
	last      time.Time
	refused   bool // it may have got fewer slots than it could use
}

func newShares(size int, memory int64, now func() time.Time) *shares {
	return &shares{
		size: size, memory: memory, now: now, records: map[int64]*record{}, busy: map[int64]*record{}, pruned: now(),
		wake: make(chan struct{}, 1),
	}
}

func (r *record) isProven(now time.Time) bool {
	return r != nil && r.ok && !r.hasSlow(now)
}

func (r *record) isNew(now time.Time) bool {
	return r == nil || !r.tried && !r.hasSlow(now)
}

func (r *record) hasSlow(now time.Time) bool {
	for o := range r.slots {
		if o.isSlow(now) {
			return true
		}
	}
	return false
}

// hasNoTrial reports whether an unproven destination has no slot that it got while unproven.
func (r *record) hasNoTrial() bool {
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

// totals counts the free slots.
type totals struct {
	now time.Time
	// proven, untried and failing are free for proven destinations, for never-tried ones, and for other unproven ones; all are free
	// in both sets.
	proven, untried, failing, all int
}

// totals requires the lock.
func (s *shares) totals() totals {
	half := max(1, s.size/2)
	t := totals{now: s.now(), proven: s.size, untried: half, failing: half, all: 2*s.size - s.inFlight}
	for _, r := range s.busy {
		proven := r.isProven(t.now)
		for o := range r.slots {
			switch {
			case proven:
				t.proven--
			case o.unproven && o.isSlow(t.now):
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

// capacityOf returns how many more attempts of a destination may start.
func (t totals) capacityOf(r *record) int {
	switch {
	case r.isProven(t.now):
		return max(0, min(r.window-len(r.slots), (t.proven-len(r.slots)+1)/2, t.all))
	case r.isNew(t.now) && t.untried > 0 && r.hasNoTrial(), t.failing > 0 && r.hasNoTrial():
		return 1
	default:
		return 0
	}
}

// capacity returns what may be leased now. Limit is 0 if no slot is free. Otherwise the lease is under way until claim.
func (s *shares) capacity() delivery.LeaseRequest {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.totals()
	s.offered = map[int64]int{}
	limit := max(0, min(t.proven, t.all))
	s.limited = limit == 0 || t.untried <= 0 || t.failing <= 0
	s.leasing = limit > 0
	want := delivery.LeaseRequest{Limit: limit, Room: func(ids []int64) []int { return s.offer(t, ids) }}
	if t.untried <= 0 {
		want.Only = []int64{}
	}
	candidates := s.busy
	if t.untried <= 0 || t.failing <= 0 {
		candidates = s.records
	}
	for id, r := range candidates {
		switch capacity := t.capacityOf(r); {
		case capacity > 0 && want.Only != nil:
			want.Only = append(want.Only, id)
		case capacity <= 0:
			want.Without = append(want.Without, id)
			r.refused = true
		}
	}
	return want
}

// offer divides the free slots among the candidates of a lease. Proven destinations get equal shares and leave one share free;
// the others get one slot each.
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
		rooms[i] = t.capacityOf(r)
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

// claim ends a lease and assigns slots to its jobs.
func (s *shares) claim(jobs []delivery.Job) []*slot {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.leasing = false
	now := s.now()
	proven := map[int64]bool{}
	for _, j := range jobs {
		proven[j.DestinationID] = s.records[j.DestinationID].isProven(now)
	}
	inUse := make([]*slot, len(jobs))
	for i, j := range jobs {
		inUse[i] = s.use(j.DestinationID, !proven[j.DestinationID], now)
		r := inUse[i].record
		s.offered[j.DestinationID]--
		r.refused = r.refused || s.offered[j.DestinationID] <= 0
	}
	s.prune(now)
	return inUse
}

// take uses a slot without a lease, and adds it to attempts. It returns nil if none is free, or a lease may use all of them. The
// only slot of a destination whose last attempt failed is left to leases: its deliveries are made from the queue.
func (s *shares) take(destination int64, attempts *sync.WaitGroup) *slot {
	s.mu.Lock()
	defer s.mu.Unlock()
	t, r := s.totals(), s.records[destination]
	if s.closed || s.leasing || t.capacityOf(r) < 1 || !r.isProven(t.now) && !r.isNew(t.now) {
		return nil
	}
	attempts.Add(1)
	return s.use(destination, !r.isProven(t.now), t.now)
}

// close makes take return nothing.
func (s *shares) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
}

// use counts a slot of a destination as in use. The caller holds the lock.
func (s *shares) use(destination int64, unproven bool, now time.Time) *slot {
	r := s.records[destination]
	if r == nil {
		r = &record{window: 1, slots: map[*slot]struct{}{}}
		s.records[destination] = r
	}
	s.busy[destination] = r
	o := &slot{of: s, destination: destination, record: r, unproven: unproven}
	r.slots[o] = struct{}{}
	r.last = now
	s.inFlight++
	return o
}

// prune removes records of unused destinations.
func (s *shares) prune(now time.Time) {
	if now.Sub(s.pruned) < time.Hour {
		return
	}
	s.pruned = now
	for id, r := range s.records {
		if len(r.slots) == 0 && now.Sub(r.last) >= recordTTL {
			delete(s.records, id)
		}
	}
}

// inUse returns the number of used slots.
func (s *shares) inUse() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.inFlight
}

// free releases slots. It wakes the lease loop only if a destination may have got fewer slots than it could use; otherwise the
// last lease has left nothing.
func (s *shares) free(all []*slot) {
	s.mu.Lock()
	defer s.mu.Unlock()
	wake := s.limited
	for _, o := range all {
		wake = wake || o.record.refused
		o.record.refused = false
		o.record.last = s.now()
		if delete(o.record.slots, o); len(o.record.slots) == 0 {
			delete(s.busy, o.destination)
		}
	}
	s.inFlight -= len(all)
	if wake {
		notify(s.wake)
	}
}
