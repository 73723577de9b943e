package intake

import (
	"context"
	"sync"
	"time"

	"github.com/sony/gobreaker/v2"

	"holdfast/runs"
)

const (
	// tripAfter is how many starts in a row must fail until Temporal counts as down.
	tripAfter = 5
	// breakerPause is how long nobody asks a store that counts as down.
	breakerPause = time.Second
	// leastRoom is how many events from the inbox may be started at the same time whatever live traffic does, and roomGrowth the
	// wait of the oldest that makes it one more.
	leastRoom  = 2
	roomGrowth = time.Second
)

// Breaker stands before Temporal, for all that starts events in one process. While Temporal is down it lets nobody through but,
// now and then, one to see; and it bounds how many starts are under way, so that what Temporal cannot take in time does not
// queue up here. What comes from the inbox takes the room that live traffic leaves, and a share that grows while it waits.
type Breaker struct {
	max     int
	circuit *gobreaker.TwoStepCircuitBreaker[struct{}]
	wakes   chan struct{}

	mu        sync.Mutex
	live      int       // starts under way of requests
	inbox     int       // and of events from the inbox
	confirmed time.Time // when Temporal last confirmed a start
}

// NewBreaker makes one for at most so many starts at the same time.
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

// pass is the leave to start one event. Its end must be reported, once it is known.
type pass struct {
	breaker *Breaker
	since   time.Time
	report  func(error)
	once    sync.Once
	count   *int // of those under way that this one is among
	// probe: Temporal counts as down, and this start is to show whether it still is.
	probe bool
}

// enter gives a pass, or why there is none. Forced, there is no limit to how many: for those who have no inbox left.
func (b *Breaker) enter(forced bool) (*pass, start) {
	b.mu.Lock()
	if b.live+min(b.inbox, b.share()) >= b.max && !forced {
		b.mu.Unlock()
		return nil, busy
	}
	b.live++
	b.mu.Unlock()
	if p := b.ask(&b.live); p != nil {
		return p, started
	}
	return nil, down
}

// follow gives a pass to an event from the inbox, whose number the drain bounds itself; nil while Temporal counts as down.
func (b *Breaker) follow() *pass {
	b.mu.Lock()
	b.inbox++
	b.mu.Unlock()
	return b.ask(&b.inbox)
}

// share is how many starts the inbox may have although live traffic wants them.
func (b *Breaker) share() int { return b.max / 4 }

// ask gives a pass to a start that is counted already, or nil and no longer counts it.
func (b *Breaker) ask(count *int) *pass {
	report, err := b.circuit.Allow()
	if err != nil {
		b.leave(count)
		return nil
	}
	return &pass{breaker: b, since: time.Now(), report: report, count: count, probe: b.isDown()}
}

// isDown says that Temporal counts as down.
func (b *Breaker) isDown() bool { return b.circuit.State() != gobreaker.StateClosed }

func (b *Breaker) leave(count *int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	*count--
}

// late says that the start has not been confirmed within the ACK budget. That is a failure if Temporal has confirmed no other
// one meanwhile: it is not busy, it is stuck.
func (p *pass) late() {
	if p.breaker.confirmedSince(p.since) {
		return
	}
	p.once.Do(func() { p.report(context.DeadlineExceeded) })
}

// end says how the start has ended.
func (p *pass) end(err error) {
	if err == nil {
		p.breaker.confirm()
	}
	p.once.Do(func() { p.report(err) })
	p.breaker.leave(p.count)
}

func (b *Breaker) confirm() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.confirmed = time.Now()
}

func (b *Breaker) confirmedSince(t time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.confirmed.After(t)
}

// room is how many events from the inbox may be started at the same time, the oldest of which has waited for so long: as many as
// live traffic leaves of the half, and a few at least, so that it cannot keep them waiting for ever. These are more the longer
// they wait, up to a quarter. It is one only, while it is not known whether Temporal is back; and none while it is down.
func (b *Breaker) room(waited time.Duration) int {
	switch b.circuit.State() {
	case gobreaker.StateOpen:
		return 0
	case gobreaker.StateHalfOpen:
		return 1
	case gobreaker.StateClosed:
	}
	least := min(leastRoom+int(max(waited, 0)/roomGrowth), max(b.share(), leastRoom))
	b.mu.Lock()
	defer b.mu.Unlock()
	return max(b.max/2-b.live, least)
}

// wake makes the drain look at the inbox at once.
func (b *Breaker) wake() {
	select {
	case b.wakes <- struct{}{}:
	default:
	}
}
