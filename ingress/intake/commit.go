package intake

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"holdfast/event"
	"holdfast/workflows/runs"
)

// probeGrace bounds the wait of a request that probes both stores while they are considered down.
const probeGrace = 100 * time.Millisecond

var (
	// errNoInbox is reported together with Temporal's error when no database is configured.
	errNoInbox = errors.New("no database is configured for the inbox")
	errDown    = errors.New("temporal is considered down")
)

// commitment is a commit in progress. The rules table determines its next action.
type commitment struct {
	*Intake
	event.Received
	*request

	start startState
	store storeState
	clock clockState

	ctx         context.Context //nolint:containedctx // of the request, or of a probe
	cancel      context.CancelFunc
	permit      *permit
	hasSlot     bool
	ackTimer    *time.Timer
	startResult *pendingResult // nil before the start
	spoolResult *pendingResult // the commit to the inbox alongside the start; nil before that
	spooled     runs.Started
	startErr    error
	storeErr    error
}

// commit makes an event durable: in Temporal, or in the inbox if Temporal doesn't confirm within the ACK budget, refuses, is
// down or is busy. A late start continues. commit returns after the first store has committed.
func (i *Intake) commit(ctx context.Context, e event.Received, r *request) (runs.Started, error) {
	c := &commitment{Intake: i, Received: e, request: r, ctx: ctx, start: queued, store: untried, clock: inBudget}
	if !i.inbox.isConfigured() {
		c.store, c.storeErr = unavailable, errNoInbox
	}
	defer c.end()
	for {
		switch c.next() {
		case awaitSlot:
			c.await(c.slots)
		case await:
			c.await(nil)
		case forceStart:
			c.begin(true)
		case spool:
			c.endStore(c.spool(c.ctx, c.Received, c.start.reason()))
		case spoolAlongside:
			c.store, c.spoolResult = writing, c.spoolAlongside(c.ctx, c.Received, c.startResult, c.start.reason())
		case answerStart:
			return c.startResult.started, nil
		case answerStore:
			return c.spooled, nil
		case giveUp:
			return runs.Started{}, joinErrors(c.startErr, c.storeErr)
		}
	}
}

// next looks up the next action.
func (c *commitment) next() action {
	at := c.start
	if at == started && c.clock == overBudget && c.Breaker.isDown() {
		at = stuck
	}
	return decide(at, c.store, c.clock)
}

// await records whichever result comes first. An event that was waiting for a slot then asks the breaker for a permit.
func (c *commitment) await(slots chan<- struct{}) {
	var startEnds, storeEnds <-chan struct{}
	if c.start == started || c.start == probing {
		startEnds = c.startResult.done
	}
	if c.store == writing {
		storeEnds = c.spoolResult.done
	}
	select {
	case slots <- struct{}{}:
		c.hasSlot = true
		c.begin(false)
	case <-startEnds:
		if c.start, c.startErr = confirmed, c.startResult.err; c.startErr != nil {
			c.start = failed
		}
	case <-storeEnds:
		c.endStore(c.spoolResult.started, c.spoolResult.err)
	case <-c.budget():
		c.clock = overBudget
	case <-c.ctx.Done():
		c.clock, c.storeErr = timedOut, joinErrors(c.storeErr, context.Cause(c.ctx))
	}
	// A slow start is a failure only if the inbox is faster. Without it, Temporal is all there is.
	if c.start == started && (c.clock == timedOut || c.clock == overBudget && c.store == stored) {
		c.permit.reportLate()
	}
}

// begin starts the event if the breaker permits it; if forced, even beyond the limit on starts in flight. It waits for its turn
// for up to half of the ACK budget, so that the start has the other half.
func (c *commitment) begin(forced bool) {
	if c.permit, c.start = c.Breaker.admit(c.ctx, c.ackDeadline.Add(-c.AckBudget/2), forced); c.permit == nil {
		if c.start == down {
			c.startErr = errDown
		}
		if c.ctx.Err() != nil { // while it waited for its turn
			c.clock, c.storeErr = timedOut, joinErrors(c.storeErr, context.Cause(c.ctx))
		}
		return
	}
	if c.permit.probe && c.inbox.isDown() {
		c.start = probing
		c.ctx, c.cancel = runs.WithTimeout(c.ctx, probeGrace)
	}
	c.startResult = c.startEvent(c.ctx, c.Received, c.permit)
}

func (c *commitment) endStore(spooled runs.Started, err error) {
	if c.store, c.spooled, c.storeErr = stored, spooled, err; err != nil {
		c.store = unavailable
	}
}

// budget returns a channel that fires when the ACK budget is used up; nil once the inbox has been tried.
func (c *commitment) budget() <-chan time.Time {
	if c.store != untried || c.clock != inBudget {
		return nil
	}
	if c.ackTimer == nil {
		c.ackTimer = time.NewTimer(time.Until(c.ackDeadline))
	}
	return c.ackTimer.C
}

func (c *commitment) end() {
	if c.hasSlot {
		<-c.slots
	}
	if c.ackTimer != nil {
		c.ackTimer.Stop()
	}
	if c.cancel != nil {
		c.cancel()
	}
}

// pendingResult is the result of a start or of a commit to the inbox, readable once done is closed.
type pendingResult struct {
	done    chan struct{}
	started runs.Started
	err     error
}

func newPendingResult() *pendingResult { return &pendingResult{done: make(chan struct{})} }

// startEvent starts the event's workflow in the background: the start continues until its own timeout even if the request stops
// waiting.
func (i *Intake) startEvent(ctx context.Context, e event.Received, permit *permit) *pendingResult {
	result := newPendingResult()
	ctx, cancel := runs.WithTimeout(context.WithoutCancel(ctx), i.StartTimeout)
	go func() {
		defer cancel()
		defer close(result.done)
		defer func() { permit.end(result.err) }()
		defer guard("start workflow "+e.WorkflowID(), &result.err)
		result.started, result.err = i.Starter.Start(ctx, e.Receipt, e.Body, e.RejectRedelivery)
	}()
	return result
}

// spool commits the event to the inbox and counts the reason.
func (i *Intake) spool(ctx context.Context, e event.Received, reason string) (runs.Started, error) {
	started, err := i.inbox.spool(ctx, event.LaneOverflow, e)
	if err != nil {
		return started, err
	}
	i.countSpooled(ctx, e.Provider, started, reason)
	if reason != down.reason() { // if Temporal is down, the breaker wakes the drain once it is back
		i.Breaker.wake()
	}
	return started, nil
}

// spoolAlongside commits an event to the inbox while its start is in flight. The drain skips the row for as long as the start can
// take, and the row is removed once the start is confirmed, even if the write was canceled: it may have committed.
func (i *Intake) spoolAlongside(ctx context.Context, e event.Received, startResult *pendingResult, reason string) *pendingResult {
	spoolResult := newPendingResult()
	go func() {
		spooled, err := i.inbox.spoolLate(ctx, e, i.StartTimeout)
		if err == nil {
			i.countSpooled(ctx, e.Provider, spooled, reason)
		}
		spoolResult.started, spoolResult.err = spooled, err
		close(spoolResult.done)
		if err == nil && spooled.State != StateSpooled || err != nil && !errors.Is(err, context.Canceled) {
			return
		}
		if <-startResult.done; startResult.err == nil {
			i.late.add(e.Receipt)
		}
	}()
	return spoolResult
}

// guard turns a panic into an error. Defer it in a goroutine of our own, where nothing else would recover. The panic's value is
// left out: it may contain part of a payload.
func guard(doing string, err *error) {
	if value := recover(); value != nil { //nolint:revive // guard itself is what is deferred
		*err = fmt.Errorf("%s: panicked with a %T", doing, value)
	}
}

// joinErrors joins the errors of the two stores on one line.
func joinErrors(start, store error) error {
	switch {
	case start == nil:
		return store
	case store == nil:
		return start
	default:
		return fmt.Errorf("%w; %w", start, store)
	}
}

// bulkTimeout is how long a commit to the bulk lane may take before the event is started as a workflow. It is short, so that
// most of the request's time is left for the start.
const bulkTimeout = time.Second

// commitBulk commits an event to the bulk lane. If that fails, the event is committed like any other, but under a new event ID:
// the first commit may have reached the inbox, and one ID must not be processed in two places. Since both share a key, one of
// the two becomes a duplicate. While the lane is behind, only the response is delayed; the event is already committed.
func (i *Intake) commitBulk(ctx context.Context, e event.Received, r *request) (runs.Started, error) {
	limited, cancel := runs.WithTimeout(ctx, bulkTimeout)
	defer cancel()
	forget := i.BulkStarter.Expect(e.ID)
	started, err := i.inbox.spool(limited, event.LaneBulk, e)
	if err != nil || started.State != StateSpooled {
		forget()
	}
	if err == nil {
		i.BulkStarter.Wake()
		i.BulkStarter.Throttle(r.ackDeadline)
		return started, nil
	}
	e.ID = uuid.Must(uuid.NewV7()).String()
	started, failed := i.commit(ctx, e, r)
	if failed != nil {
		return started, joinErrors(failed, err)
	}
	return started, nil
}
