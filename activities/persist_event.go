package activities

import (
	"context"

	"go.temporal.io/sdk/converter"

	"holdfast/event"
)

// PersistEvent stores the event and its raw body, unless another event owns its key. An event that is new and meets no obstacle
// is processed in the same transaction: one commit instead of two, and no further step. Whatever the obstacle is, the event is
// stored then, and the upsert step meets it.
func (a *Activities) PersistEvent(
	ctx context.Context, r event.Receipt, body converter.RawValue, p event.Parsed,
) (event.Persisted, error) {
	status, err := a.Events.ProcessFirst(ctx, r, body.Payload().GetData(), p, currentRun(ctx))
	if err == nil && status != "" {
		return event.Persisted{Processed: status == event.StatusProcessed}, nil
	}
	return a.Events.Persist(ctx, r, body.Payload().GetData(), p, currentRun(ctx))
}
