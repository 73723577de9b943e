package intake

import (
	"context"
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
	minInboxStarts   = 2
	inboxStartGrowth = time.Second
)

// Breaker limits the starts of one process. While Temporal is down it lets only an occasional probe through. It also bounds the
// starts in flight, so that work that Temporal can't accept in time doesn't queue up here. The inbox gets the capacity that
// live traffic leaves free, and at least a share that grows with the age of its oldest event.
type Breaker struct {
	max     int
	circuit *gobreaker.TwoStepCircuitBreaker[struct{}]
	wakes   chan struct{}

	mu            sync.Mutex
	liveStarts    int       // starts in flight for requests
	inboxStarts   int       // starts in flight for events from the inbox
	lastConfirmed time.Time // when Temporal last confirmed a start
}

// NewBreaker returns a breaker that allows maxStarts concurrent starts.
func NewBreaker(maxStarts int) *Breaker {
	b := &Breaker{max: maxStarts, wakes: make(chan struct{}, 1)}
	b.circuit = gobreaker.NewTwoStepCircuitBreaker[struct{}](gobreaker.Settings{
		Name:         "temporal",
		Timeout:      breakerPause,
		ReadyToTrip:  func(c gobreaker.Counts) bool { return c.ConsecutiveFailures >= tripAfter },
		IsSuccessful: func(err error) bool { return !runs.IsOutage(err) },
		OnStateChange: func(_ string, _, to gobreaker.State) {
			if to == gobreaker.StateClosed {
				b.wake()
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

// admit returns a permit and started, or nil and the reason (busy or down). Callers without a usable inbox set forced, which
// ignores the limit on starts in flight.
func (b *Breaker) admit(forced bool) (*permit, startState) {
	b.mu.Lock()
	if b.liveStarts+min(b.inboxStarts, b.share()) >= b.max && !forced {
		b.mu.Unlock()
		return nil, busy
	}
	b.liveStarts++
	b.mu.Unlock()
	if p := b.newPermit(&b.liveStarts); p != nil {
		return p, started
	}
	return nil, down
}

// admitFromInbox returns a permit for an event from the inbox (the drain bounds their number), or nil while Temporal is down.
func (b *Breaker) admitFromInbox() *permit {
	b.mu.Lock()
	b.inboxStarts++
	b.mu.Unlock()
	return b.newPermit(&b.inboxStarts)
}

// share is how many starts are reserved for the inbox.
func (b *Breaker) share() int { return b.max / 4 }

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
		p.breaker.confirm()
	}
	p.once.Do(func() { p.report(err) })
	p.breaker.leave(p.count)
}

func (b *Breaker) confirm() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.lastConfirmed = time.Now()
}

func (b *Breaker) confirmedSince(t time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.lastConfirmed.After(t)
}

// capacity returns how many events from the inbox may start at the same time, given how long the oldest has waited: max/2 -
// liveStarts, but at least minInboxStarts. That minimum grows to max/4 with the wait, so that live traffic can't starve the
// inbox. It is 1 while a probe tests whether Temporal is back, and 0 while Temporal is down.
func (b *Breaker) capacity(waited time.Duration) int {
	switch b.circuit.State() {
	case gobreaker.StateOpen:
		return 0
	case gobreaker.StateHalfOpen:
		return 1
	case gobreaker.StateClosed:
	}
	least := min(minInboxStarts+int(max(waited, 0)/inboxStartGrowth), max(b.share(), minInboxStarts))
	b.mu.Lock()
	defer b.mu.Unlock()
	return max(b.max/2-b.liveStarts, least)
}

// wake makes the drain poll the inbox immediately.
func (b *Breaker) wake() { notify(b.wakes) }
