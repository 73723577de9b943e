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
	// turns are those of the request's events to be started.
	turns chan struct{}
}

// slow ends with the ACK budget; nil where there is no inbox to turn to then.
func (i *Intake) slow(a arrival) (ends <-chan time.Time, stop func() bool) {
	timer := time.NewTimer(time.Until(a.slowAt))
	if !i.inbox.isThere() {
		return nil, timer.Stop
	}
	return timer.C, timer.Stop
}

// commitInTurn waits for the turn of the event among those of its request; beyond the ACK budget for none.
func (i *Intake) commitInTurn(ctx context.Context, a arrival) (runs.Started, error) {
	select {
	case a.turns <- struct{}{}: // most requests are one event, whose turn it is
		defer func() { <-a.turns }()
		return i.commit(ctx, a)
	default:
	}
	slow, stop := i.slow(a)
	defer stop()
	select {
	case a.turns <- struct{}{}:
	case <-slow:
		started, err := i.spool(ctx, a, reasonSlow)
		if err == nil {
			return started, nil
		}
		select {
		case a.turns <- struct{}{}:
		case <-ctx.Done():
			return runs.Started{}, both(err, context.Cause(ctx))
		}
	case <-ctx.Done():
		return runs.Started{}, context.Cause(ctx)
	}
	defer func() { <-a.turns }()
	return i.commit(ctx, a)
}

// commit makes an event durable: in Temporal, or in the inbox where Temporal does not confirm within the ACK budget, refuses, is
// down or is busy. A start that is late goes on, and the first to commit answers.
func (i *Intake) commit(ctx context.Context, a arrival) (runs.Started, error) {
	pass, reason := i.Breaker.enter(!i.inbox.isThere())
	if pass == nil {
		started, err := i.spool(ctx, a, reason)
		if err == nil || reason == reasonDown {
			return started, err
		}
		if pass, _ = i.Breaker.enter(true); pass == nil { // without the inbox everybody waits for Temporal
			return runs.Started{}, err
		}
	}
	start := i.start(ctx, a, pass)
	if pass.probe && i.inbox.isDown() {
		ctx, cancel := runs.WithTimeout(ctx, probeGrace)
		defer cancel()
		return i.race(ctx, a, start, reasonDown)
	}
	if !i.inbox.isThere() {
		return start.wait(ctx)
	}
	slow, stop := i.slow(a)
	defer stop()
	select {
	case <-start.done:
		if start.err == nil {
			return start.started, nil
		}
		started, err := i.spool(ctx, a, reasonFailed)
		return started, both(start.err, err)
	case <-slow:
		pass.late()
		return i.race(ctx, a, start, reasonSlow)
	case <-ctx.Done():
		return runs.Started{}, context.Cause(ctx)
	}
}

// race commits to the inbox while the start goes on.
func (i *Intake) race(ctx context.Context, a arrival, start *ending, reason string) (runs.Started, error) {
	spool := newEnding()
	go func() {
		spool.end(i.spoolLate(ctx, a, reason))
		i.removeConfirmed(a, start, spool)
	}()
	var failed error
	startDone, spoolDone := start.done, spool.done
	for range 2 {
		var first *ending
		select {
		case <-startDone:
			first, startDone = start, nil
		case <-spoolDone:
			first, spoolDone = spool, nil
			if first.err != nil && reason == reasonSlow && i.Breaker.isDown() {
				return runs.Started{}, both(failed, first.err)
			}
		case <-ctx.Done():
			return runs.Started{}, both(failed, context.Cause(ctx))
		}
		if first.err == nil {
			return first.started, nil
		}
		failed = both(failed, first.err)
	}
	return runs.Started{}, failed
}

// removeConfirmed takes an event out of the inbox once its start is confirmed after all. One that was let go while it was being
// written may be there, too.
func (i *Intake) removeConfirmed(a arrival, start, spool *ending) {
	isThere := spool.err == nil && spool.started.State == runs.StateSpooled
	if !isThere && !errors.Is(spool.err, context.Canceled) {
		return
	}
	<-start.done
	if start.err == nil {
		i.late.add(a.Receipt)
	}
}

// ending is how a commit has ended, for everybody who waits until it is done.
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

func (e *ending) wait(ctx context.Context) (runs.Started, error) {
	select {
	case <-e.done:
		return e.started, e.err
	case <-ctx.Done():
		return runs.Started{}, context.Cause(ctx)
	}
}

// probeGrace is how long a request waits for two stores that count as down, if it is the one that asks them again.
const probeGrace = 100 * time.Millisecond

// start begins a start that goes on when nobody waits for it any more, up to its own time-out.
func (i *Intake) start(ctx context.Context, a arrival, pass *pass) *ending {
	ending := newEnding()
	ctx, cancel := runs.WithTimeout(context.WithoutCancel(ctx), i.StartTimeout)
	go func() {
		defer cancel()
		started, err := i.startSafely(ctx, a)
		pass.end(err)
		ending.end(started, err)
	}()
	return ending
}

func (i *Intake) startSafely(ctx context.Context, a arrival) (_ runs.Started, err error) {
	defer func() {
		if value := recover(); value != nil { // nobody above recovers in this goroutine
			err = fmt.Errorf("start workflow %s: panicked with a %T", a.Receipt.WorkflowID(), value)
		}
	}()
	return i.Starter.Start(ctx, a.Receipt, a.Body, a.Reject)
}

// spool commits the event to the inbox, for a reason.
func (i *Intake) spool(ctx context.Context, a arrival, reason string) (runs.Started, error) {
	started, err := i.inbox.spool(ctx, event.LaneOverflow, a.Receipt, a.Body, a.Reject)
	if err != nil {
		return started, fmt.Errorf("temporal is %s: %w", reason, err)
	}
	i.countSpooled(ctx, a.Receipt.Provider, reason)
	if reason != reasonDown { // the drain hears of it when Temporal is back
		i.Breaker.wake()
	}
	return started, nil
}

// spoolLate commits an event to the inbox that is being started. The drain leaves it alone for as long as that can take.
func (i *Intake) spoolLate(ctx context.Context, a arrival, reason string) (runs.Started, error) {
	started, err := i.inbox.spoolLate(ctx, a.Receipt, a.Body, a.Reject, i.StartTimeout)
	if err != nil {
		return started, fmt.Errorf("temporal is %s: %w", reason, err)
	}
	i.countSpooled(ctx, a.Receipt.Provider, reason)
	return started, nil
}

// both joins what went wrong on either way, on one line.
func both(start, spool error) error {
	switch {
	case start == nil:
		return spool
	case spool == nil:
		return nil
	default:
		return fmt.Errorf("%w; %w", start, spool)
	}
}
