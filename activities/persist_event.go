package activities

import (
	"context"

	"go.temporal.io/sdk/converter"

	"holdfast/event"
)

// PersistEvent stores the event and its raw body, unless another event owns its key.
func (a *Activities) PersistEvent(
	ctx context.Context, r event.Receipt, body converter.RawValue, p event.Parsed,
) (event.Persisted, error) {
	return a.Events.Persist(ctx, r, body.Payload().GetData(), p, currentRun(ctx))
}
