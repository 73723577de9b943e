package intake

import (
	"cmp"
	"context"
	"errors"
	"time"

	"holdfast/event"
	"holdfast/workflows/runs"
)

// The drain first checks a copy after minCopyPause, when its event should be stored, and then less and less often: while no
// worker runs there may be many copies, and each check costs Temporal a start.
const (
	minCopyPause = time.Minute
	maxCopyPause = time.Hour
)

// copyPause is the pause before the drain checks a copy again.
func copyPause(attempts int) time.Duration {
	return min(minCopyPause<<min(2*attempts, 10), maxCopyPause)
}

// commitBoth makes an event durable in both stores: the loss of either one then loses nothing. It starts the workflow, and
// commits a copy to the inbox under the event ID of the run. If either fails, so does the commit; the sender's next request finds
// what the first one has done.
//
// A run that has ended needs no copy: its event is stored, or is a dead letter. An event that Temporal can never accept goes to
// the overflow lane, where it becomes a dead letter.
func (i *Intake) commitBoth(ctx context.Context, e event.Received, r *request) (runs.Started, error) {
	e.Copied = true
	select {
	case r.slots <- struct{}{}:
		defer func() { <-r.slots }()
	case <-ctx.Done():
		return runs.Started{}, context.Cause(ctx)
	}
	permit, _ := i.Breaker.admit(ctx, time.Time{}, true)
	if permit == nil {
		return runs.Started{}, errDown
	}
	start := i.startEvent(ctx, e, permit)
	select {
	case <-start.done:
	case <-ctx.Done():
		return runs.Started{}, context.Cause(ctx)
	}
	s, err := start.started, start.err
	switch {
	case errors.Is(err, runs.ErrTooLarge) || runs.IsIDTaken(err):
		return i.spool(ctx, e, failed.reason())
	case err != nil || s.Conflict != nil || s.State == runs.StateProcessed || s.State == runs.StateDead:
		return s, err
	}
	e.ID = cmp.Or(s.EventID, e.ID)
	return s, i.inbox.copy(ctx, e)
}
