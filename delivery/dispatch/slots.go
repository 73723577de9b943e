package dispatch

import (
	"math/bits"
	"sync"
	"time"

	"holdfast/delivery"
)

// How slots are shared out.
const (
	// shares is into how many shares the fast slots are cut: a destination gets two of them at most, and one is kept for first
	// attempts.
	shares = 4
	// late is after how long an attempt gives its fast slot up for a slow one.
	late = 2 * time.Second
	// Of the last attempts of a destination as many are looked at, and if more of them were late than may be, it is slow: its 95th
	// percentile is.
	lookedAt  = 20
	lateOfAll = 1
	// forgotten is after how long without an attempt nothing is known of a destination any more.
	forgotten = 10 * time.Minute
)

// slots bound what is under way. There are as many slow ones as fast ones: an attempt that is late, and each of a destination
// that is slow, stands in a slow one, so that it keeps nobody waiting who is fast. Where all slow ones are taken, slow
// destinations get nothing.
type slots struct {
	size int

	mu         sync.Mutex
	fast, slow int
	retries    int // of the fast ones
	loads      map[int64]*load
	busy       map[int64]*load // those with something under way
	slowOnes   map[int64]*load
	pruned     time.Time
	// look gets a value when it may be of use to lease again.
	look chan struct{}
}

// load is what is known of a destination.
type load struct {
	underWay int
	late     uint32 // a bit for each of the last attempts, the newest lowest
	last     time.Time
	// refused: the last lease has given as many as it was asked for at most, and may have left some.
	refused bool
}

func (l *load) isSlow() bool { return bits.OnesCount32(l.late&(1<<lookedAt-1)) > lateOfAll }

func newSlots(size int) *slots {
	return &slots{
		size: size, loads: map[int64]*load{}, busy: map[int64]*load{}, slowOnes: map[int64]*load{}, pruned: time.Now(),
		look: make(chan struct{}, 1),
	}
}

// share is how many slots one destination may have.
func (s *slots) share() int { return max(1, 2*s.size/shares) }

// room is what may be leased now. Limit is 0 if there is none.
func (s *slots) room() delivery.Want {
	s.mu.Lock()
	defer s.mu.Unlock()
	want := delivery.Want{Limit: s.size - s.fast, Share: s.share(), Busy: map[int64]int{}}
	for id, l := range s.busy {
		want.Busy[id] = l.underWay
	}
	if s.slow >= s.size {
		for id := range s.slowOnes {
			want.Busy[id] = want.Share
		}
	}
	if want.First = s.again() < min(want.Limit, s.fewest()); !want.First {
		want.Limit = min(want.Limit, s.again())
	}
	return want
}

// take gives slots to what was leased for what was wanted.
func (s *slots) take(want delivery.Want, jobs []delivery.Job) []*slot {
	s.mu.Lock()
	defer s.mu.Unlock()
	taken := make([]*slot, len(jobs))
	given := make(map[int64]int, len(want.Busy))
	for i, j := range jobs {
		l := s.loads[j.DestinationID]
		if l == nil {
			l = &load{}
			s.loads[j.DestinationID] = l
		}
		s.busy[j.DestinationID] = l
		l.underWay++
		given[j.DestinationID]++
		l.refused = want.Busy[j.DestinationID]+given[j.DestinationID] >= want.Share
		l.last = time.Now()
		taken[i] = &slot{of: s, destination: j.DestinationID, load: l, retry: j.Attempts > 0}
		taken[i].place(l.isSlow() && s.slow < s.size)
	}
	s.prune()
	return taken
}

// prune forgets destinations that nothing is sent to.
func (s *slots) prune() {
	if time.Since(s.pruned) < forgotten {
		return
	}
	s.pruned = time.Now()
	for id, l := range s.loads {
		if l.underWay == 0 && time.Since(l.last) >= forgotten {
			delete(s.loads, id)
			delete(s.slowOnes, id)
		}
	}
}

// underWay is how many slots are taken.
func (s *slots) underWay() (fast, slow int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.fast, s.slow
}

func (s *slots) signal() { notify(s.look) }

// slot is one of them, from the lease of a delivery until its outcome is settled.
type slot struct {
	of            *slots
	destination   int64
	load          *load
	retry, inSlow bool
	ended         bool
}

// place puts the slot where it belongs. The caller holds the lock.
func (o *slot) place(slow bool) {
	o.inSlow = slow
	o.count(1)
}

func (o *slot) count(by int) {
	switch {
	case o.inSlow:
		o.of.slow += by
	case o.retry:
		o.of.fast, o.of.retries = o.of.fast+by, o.of.retries+by
	default:
		o.of.fast += by
	}
}

// isLate moves an attempt that takes long to the slow slots, if one is free.
func (o *slot) isLate() {
	o.of.mu.Lock()
	defer o.of.mu.Unlock()
	if o.ended || o.inSlow || o.of.slow >= o.of.size {
		return
	}
	o.count(-1)
	o.place(true)
	o.of.signal()
}

// took notes how long an attempt has taken.
func (o *slot) took(d time.Duration) {
	o.of.mu.Lock()
	defer o.of.mu.Unlock()
	o.load.late <<= 1
	if d > late {
		o.load.late |= 1
	}
	if o.load.isSlow() {
		o.of.slowOnes[o.destination] = o.load
	} else {
		delete(o.of.slowOnes, o.destination)
	}
}

// free gives slots back. Whoever was refused room looks again: there was none, none for second attempts, none that is slow, or
// a destination had its share. Where nobody was, a look would find what the last one has left, which is nothing.
func (s *slots) free(all []*slot) {
	s.mu.Lock()
	defer s.mu.Unlock()
	refused := s.fast >= s.size || s.slow >= s.size || s.again() < s.fewest()
	for _, o := range all {
		refused = refused || o.load.refused || o.load.underWay >= s.share()
		o.load.refused = false
		o.ended = true
		o.count(-1)
		if o.load.underWay--; o.load.underWay == 0 {
			delete(s.busy, o.destination)
		}
	}
	if refused {
		s.signal()
	}
}

// again is how many slots are left for second attempts, and fewest how many it takes to look for some.
func (s *slots) again() int  { return s.size - s.size/shares - s.retries }
func (s *slots) fewest() int { return max(1, s.size/16) }
