package intake

import (
	"context"
	"log/slog"
	"time"

	"holdfast/event"
	"holdfast/workflows/runs"
)

// largeTimeout bounds the commit of a large body, whose bytes take longer than other events'.
const largeTimeout = 8 * time.Second

// commitLarge makes an event durable whose body is too large for Temporal: PostgreSQL commits the body, under the event ID, and
// then Temporal starts the run with only the receipt. If Temporal doesn't confirm, the drain starts the run later. Without
// PostgreSQL the event is refused.
//
// A body that no run needs, since the event is a duplicate or a conflict, is removed, at once or by the drain.
func (i *Intake) commitLarge(ctx context.Context, e event.Received) (runs.Started, error) {
	if !i.inbox.isConfigured() {
		return runs.Started{}, errNoInbox
	}
	ctx, cancel := runs.WithTimeout(context.WithoutCancel(ctx), largeTimeout)
	defer cancel()
	e.Large = event.NewLargeBody(e.ID, e.Body)
	if err := i.inbox.keepLarge(ctx, e); err != nil {
		return runs.Started{}, err
	}
	e.Body = nil
	spooled := runs.Started{
		WorkflowID: e.WorkflowID(), EventID: e.ID, State: StateSpooled, Fingerprint: e.Fingerprint,
	}
	permit, why := i.Breaker.admit(ctx, time.Now().Add(i.AckBudget/2), false)
	if permit == nil {
		i.countSpooled(ctx, e.Provider, spooled, why.reason())
		return spooled, nil
	}
	start := i.startEvent(ctx, e, permit)
	<-start.done // no later than StartTimeout
	if start.err != nil {
		i.countSpooled(ctx, e.Provider, spooled, failed.reason())
		return spooled, nil
	}
	if s := start.started; s.State != runs.StateAccepted && s.EventID != "" && s.EventID != e.ID {
		i.removeLarge(ctx, e.ID)
	}
	return start.started, nil
}

// removeLarge removes a body that no run needs. If it fails, the drain removes it.
func (i *Intake) removeLarge(ctx context.Context, id string) {
	if _, err := i.Remover.RemoveFromInbox(ctx, []string{event.LargeRow(id)}, []string{id}); err != nil {
		slog.WarnContext(ctx, "inbox.remove_failed", "events", 1, "error", err.Error())
	}
}
