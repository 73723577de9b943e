package intake

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/sony/gobreaker/v2"

	"holdfast/workflows/runs"
)

const (
	// tripAfter is how many starts in a row must fail before Temporal is considered down.
	tripAfter = 5
	// breakerPause is how long a breaker stays open before it lets a probe through.
	breakerPause = time.Second
	// minInboxStarts is how many events from the inbox may always start at the same time, whatever the live traffic. One more may
	// start for each inboxStartGrowth that the oldest has waited, up to Breaker.share.
	minInboxStarts   = 1
	inboxStartGrowth = time.Second
	// minLimit is the limit on starts in flight at the beginning, and while starts are slow: more would only delay each other. A
	// slow start takes over a quarter of the default ACK budget. It lowers the limit by limitDown, and any other raises it by
	// limitUp.
	minLimit  = 12
	slowStart = 100 * time.Millisecond
	limitDown = 0.5
	limitUp   = 0.1
	// weightOfStart is the weight of the last start in their average duration. It is low: a stall of 300 ms says little about the
	// time after it, and a sender that is answered immediately only sends the next event, for the inbox as well.
	weightOfStart = 1.0 / 64
)

// Breaker limits the starts of one process. While Temporal is down it lets only an occasional probe through. It also bounds the
// starts in flight: to fewer while starts are slow, since more would only delay each other. Further starts wait here, as long as
// they can expect their turn in time. The inbox gets the capacity that live traffic leaves free, and at least a share that grows
// with the age of its oldest event.
type Breaker struct {
	max     int
	circuit *gobreaker.TwoStepCircuitBreaker[struct{}]
	wakes   chan struct{}

	mu            sync.Mutex
	limit         float64         // on starts in flight: minLimit to max
	average       time.Duration   // of confirmed starts
	liveStarts    int             // starts in flight for requests
	inboxStarts   int             // starts in flight for events from the inbox
	waiting       []chan struct{} // starts of requests that wait for their turn, in order; closed when it comes
	lastConfirmed time.Time       // when Temporal last confirmed a start
}

// NewBreaker returns a breaker that allows maxStarts concurrent starts.
func NewBreaker(maxStarts int) *Breaker {
	b := &Breaker{max: maxStarts, limit: min(float64(maxStarts), minLimit), wakes: make(chan struct{}, 1)}
	b.circuit = gobreaker.NewTwoStepCircuitBreaker[struct{}](gobreaker.Settings{
		Name:         "temporal",
		Timeout:      breakerPause,
		ReadyToTrip:  func(c gobreaker.Counts) bool { return c.ConsecutiveFailures >= tripAfter },
		IsSuccessful: func(err error) bool { return !runs.IsOutage(err) },
		OnStateChange: func(_ string, _, to gobreaker.State) {
			switch to {
			case gobreaker.StateClosed:
				b.wake()
			case gobreaker.StateOpen:
				b.mu.Lock()
				defer b.mu.Unlock()
				b.callNext(true)
			case gobreaker.StateHalfOpen:
			}
		},
	})
	return b
}

// permit allows one start; call end exactly once, when the start has returned.
type permit struct {
	breaker *Breaker
	since   time.Time
	report  func(error)
	once    sync.Once
	count   *int // the counter that includes this start
	// probe marks a start that tests whether Temporal is back after it was considered down.
	probe bool
}

// admit returns a permit and started, or nil and the reason (busy or down). It waits for its turn until the given time, or the
// end of ctx. If the turn is expected only after twice that wait, it returns immediately: the estimate is rough. Callers
// without a usable inbox set forced, which ignores the limit on starts in flight.
func (b *Breaker) admit(ctx context.Context, until time.Time, forced bool) (*permit, startState) {
	if !b.takeTurn(ctx, until, forced) {
		return nil, busy
	}
	if p := b.newPermit(&b.liveStarts); p != nil {
		return p, started
	}
	return nil, down
}

// takeTurn counts a live start, unless its turn doesn't come in time.
func (b *Breaker) takeTurn(ctx context.Context, until time.Time, forced bool) bool {
	isDown := b.isDown() // not under the lock, which a change of the circuit's state takes
	b.mu.Lock()
	if forced || isDown || b.isFree() && len(b.waiting) == 0 {
		b.liveStarts++
		b.mu.Unlock()
		return true
	}
	left := time.Until(until)
	if left <= 0 || b.expectedWait() > 2*left {
		b.mu.Unlock()
		return false
	}
	turn := make(chan struct{})
	b.waiting = append(b.waiting, turn)
	b.mu.Unlock()
	timer := time.NewTimer(left)
	defer timer.Stop()
	select {
	case <-turn:
		return true
	case <-timer.C:
	case <-ctx.Done():
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if n := slices.Index(b.waiting, turn); n >= 0 {
		b.waiting = slices.Delete(b.waiting, n, n+1)
		return false
	}
	return true // its turn came just now
}

// isFree reports whether another live start may begin. The caller holds the lock, as for the functions below.
func (b *Breaker) isFree() bool { return b.liveStarts+min(b.inboxStarts, b.share()) < int(b.limit) }

// expectedWait is how long one more start would wait for its turn.
func (b *Breaker) expectedWait() time.Duration {
	return b.average * time.Duration(len(b.waiting)+1) / time.Duration(max(int(b.limit)-min(b.inboxStarts, b.share()), 1))
}

// callNext gives turns to starts that wait; to all of them if Temporal is down, since they needn't wait any more.
func (b *Breaker) callNext(all bool) {
	for len(b.waiting) > 0 && (all || b.isFree()) {
		close(b.waiting[0])
		b.waiting = b.waiting[1:]
		b.liveStarts++
	}
}

// admitFromInbox returns a permit for an event from the inbox (the drain bounds their number), or nil while Temporal is down.
func (b *Breaker) admitFromInbox() *permit {
	b.mu.Lock()
	b.inboxStarts++
	b.mu.Unlock()
	return b.newPermit(&b.inboxStarts)
}

// share is how many starts are reserved for the inbox.
func (b *Breaker) share() int { return int(b.limit) / 4 }

// newPermit turns a start that is already counted into a permit, or uncounts it and returns nil.
func (b *Breaker) newPermit(count *int) *permit {
	report, err := b.circuit.Allow()
	if err != nil {
		b.leave(count)
		return nil
	}
	return &permit{breaker: b, since: time.Now(), report: report, count: count, probe: b.isDown()}
}

func (b *Breaker) isDown() bool { return b.circuit.State() != gobreaker.StateClosed }

func (b *Breaker) leave(count *int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	*count--
	b.callNext(false)
}

// reportLate tells the circuit that the start failed because it wasn't confirmed in time, unless Temporal has confirmed another
// start since this one began: then Temporal is only busy.
func (p *permit) reportLate() {
	if p.breaker.confirmedSince(p.since) {
		return
	}
	p.once.Do(func() { p.report(context.DeadlineExceeded) })
}

// end reports the result of the start.
func (p *permit) end(err error) {
	if err == nil {
		p.breaker.confirm(time.Since(p.since))
	}
	p.once.Do(func() { p.report(err) })
	p.breaker.leave(p.count)
}

// confirm notes a confirmed start, and moves the limit towards as many starts in flight as take slowStart.
func (b *Breaker) confirm(took time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.lastConfirmed = time.Now()
	b.average += time.Duration(float64(took-b.average) * weightOfStart)
	if took > slowStart {
		b.limit = max(b.limit-limitDown, min(float64(b.max), minLimit))
	} else {
		b.limit = min(b.limit+limitUp, float64(b.max))
	}
}

func (b *Breaker) confirmedSince(t time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.lastConfirmed.After(t)
}

// capacity returns how many events from the inbox may be starting at once, given how long the oldest has waited: half of the
// limit less liveStarts, but at least minInboxStarts. That minimum grows to a quarter of the limit with the wait, so that live
// traffic can't starve the inbox. It is 1 while a probe tests whether Temporal is back, and 0 while Temporal is down.
func (b *Breaker) capacity(waited time.Duration) int {
	switch b.circuit.State() {
	case gobreaker.StateOpen:
		return 0
	case gobreaker.StateHalfOpen:
		return 1
	case gobreaker.StateClosed:
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	least := min(minInboxStarts+int(max(waited, 0)/inboxStartGrowth), max(b.share(), minInboxStarts))
	return max(int(b.limit)/2-b.liveStarts, least)
}

// wake makes the drain poll the inbox immediately.
func (b *Breaker) wake() { notify(b.wakes) }
