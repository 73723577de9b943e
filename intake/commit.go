package intake

import (
	"context"
	"errors"
	"fmt"
	"time"

	"holdfast/event"
	"holdfast/runs"
)

// arrival is one event on its way to a commit.
type arrival struct {
	Event

	// slowAt is the end of the request's ACK budget.
	slowAt time.Time
	// slots are those of the request's events that may be started at the same time.
	slots chan struct{}
}

// probeGrace is how long a request waits for two stores that count as down, if it is the one that asks them again.
const probeGrace = 100 * time.Millisecond

var (
	// errNoInbox is beside the error of Temporal where no database is configured.
	errNoInbox = errors.New("no database is configured to keep the event in")
	errDown    = errors.New("temporal counts as down")
)

// commitment is a commit while it goes on. What it does next stands in rules.
type commitment struct {
	*Intake
	arrival

	start start
	store store
	clock clock

	ctx      context.Context //nolint:containedctx // of the request, or of a probe
	cancel   context.CancelFunc
	pass     *pass
	hasSlot  bool
	slow     *time.Timer
	starting *ending // nil before the start
	writing  *ending // the commit beside the start; nil before that
	kept     runs.Started
	startErr error
	storeErr error
}

// commit makes an event durable: in Temporal, or in the inbox where Temporal does not confirm within the ACK budget, refuses, is
// down or is busy. A start that is late goes on, and the first to commit answers.
func (i *Intake) commit(ctx context.Context, a arrival) (runs.Started, error) {
	c := &commitment{Intake: i, arrival: a, ctx: ctx, start: queued, store: unasked, clock: early}
	if !i.inbox.isThere() {
		c.store, c.storeErr = exhausted, errNoInbox
	}
	defer c.end()
	for {
		switch c.next() {
		case awaitSlot:
			c.await(c.slots)
		case await:
			c.await(nil)
		case insist:
			c.begin(true)
		case spool:
			c.endStore(c.spool(c.ctx, c.arrival, c.start.reason()))
		case spoolBeside:
			c.store, c.writing = writing, c.spoolBeside(c.ctx, c.arrival, c.starting, c.start.reason())
		case answerStart:
			return c.starting.started, nil
		case answerStore:
			return c.kept, nil
		case giveUp:
			return runs.Started{}, both(c.startErr, c.storeErr)
		}
	}
}

// next is what the table has for what is known now.
func (c *commitment) next() action {
	at := c.start
	if at == started && c.clock == late && c.Breaker.isDown() {
		at = stuck
	}
	return decide(at, c.store, c.clock)
}

// await takes note of what comes first. A slot, where it waits for one, is the event's leave to ask the breaker.
func (c *commitment) await(slots chan<- struct{}) {
	var startEnds, storeEnds <-chan struct{}
	if c.start == started || c.start == probing {
		startEnds = c.starting.done
	}
	if c.store == writing {
		storeEnds = c.writing.done
	}
	select {
	case slots <- struct{}{}:
		c.hasSlot = true
		c.begin(false)
	case <-startEnds:
		if c.start, c.startErr = confirmed, c.starting.err; c.startErr != nil {
			c.start = failed
		}
	case <-storeEnds:
		c.endStore(c.writing.started, c.writing.err)
	case <-c.budget():
		c.clock = late
		if c.pass != nil {
			c.pass.late()
		}
	case <-c.ctx.Done():
		c.clock, c.storeErr = over, both(c.storeErr, context.Cause(c.ctx))
	}
}

// begin starts the event if the breaker lets it; forced, also beyond what may be under way.
func (c *commitment) begin(forced bool) {
	if c.pass, c.start = c.Breaker.enter(forced); c.pass == nil {
		if c.start == down {
			c.startErr = errDown
		}
		return
	}
	if c.pass.probe && c.inbox.isDown() {
		c.start = probing
		c.ctx, c.cancel = runs.WithTimeout(c.ctx, probeGrace)
	}
	c.starting = c.startEvent(c.ctx, c.arrival, c.pass)
}

func (c *commitment) endStore(kept runs.Started, err error) {
	if c.store, c.kept, c.storeErr = stored, kept, err; err != nil {
		c.store = exhausted
	}
}

// budget ends with the ACK budget, as long as the inbox can still be turned to.
func (c *commitment) budget() <-chan time.Time {
	if c.store != unasked || c.clock != early {
		return nil
	}
	if c.slow == nil {
		c.slow = time.NewTimer(time.Until(c.slowAt))
	}
	return c.slow.C
}

func (c *commitment) end() {
	if c.hasSlot {
		<-c.slots
	}
	if c.slow != nil {
		c.slow.Stop()
	}
	if c.cancel != nil {
		c.cancel()
	}
}

// ending is how a start or a commit to the inbox has ended, for everybody who waits until it is done.
type ending struct {
	done    chan struct{}
	started runs.Started
	err     error
}

func newEnding() *ending { return &ending{done: make(chan struct{})} }

func (e *ending) end(started runs.Started, err error) {
	e.started, e.err = started, err
	close(e.done)
}

// startEvent begins a start that goes on when nobody waits for it any more, up to its own time-out.
func (i *Intake) startEvent(ctx context.Context, a arrival, pass *pass) *ending {
	ending := newEnding()
	ctx, cancel := runs.WithTimeout(context.WithoutCancel(ctx), i.StartTimeout)
	go func() {
		defer cancel()
		started, err := safely("start workflow "+a.Receipt.WorkflowID(), func() (runs.Started, error) {
			return i.Starter.Start(ctx, a.Receipt, a.Body, a.Reject)
		})
		pass.end(err)
		ending.end(started, err)
	}()
	return ending
}

// spool commits the event to the inbox, for a reason.
func (i *Intake) spool(ctx context.Context, a arrival, reason string) (runs.Started, error) {
	started, err := i.inbox.spool(ctx, event.LaneOverflow, a.Receipt, a.Body, a.Reject)
	if err != nil {
		return started, err
	}
	i.countSpooled(ctx, a.Receipt.Provider, reason)
	if reason != down.reason() { // the drain hears of it when Temporal is back
		i.Breaker.wake()
	}
	return started, nil
}

// spoolBeside commits an event to the inbox that is being started. The drain leaves it alone for as long as that can take, and
// once the start is confirmed the row is removed. One that was let go while it was being written may be there, too.
func (i *Intake) spoolBeside(ctx context.Context, a arrival, starting *ending, reason string) *ending {
	writing := newEnding()
	go func() {
		kept, err := i.inbox.spoolLate(ctx, a.Receipt, a.Body, a.Reject, i.StartTimeout)
		if err == nil {
			i.countSpooled(ctx, a.Receipt.Provider, reason)
		}
		writing.end(kept, err)
		if err == nil && kept.State != StateSpooled || err != nil && !errors.Is(err, context.Canceled) {
			return
		}
		if <-starting.done; starting.err == nil {
			i.late.add(a.Receipt)
		}
	}()
	return writing
}

// safely has a panic be the call's error: nobody above recovers in a goroutine of ours. The panic's value may hold a piece of a
// payload.
func safely[T any](doing string, call func() (T, error)) (result T, err error) {
	defer func() {
		if value := recover(); value != nil {
			err = fmt.Errorf("%s: panicked with a %T", doing, value)
		}
	}()
	return call()
}

// both joins what went wrong on either way, on one line.
func both(start, store error) error {
	switch {
	case start == nil:
		return store
	case store == nil:
		return start
	default:
		return fmt.Errorf("%w; %w", start, store)
	}
}
