package activities

import (
	"context"

	"holdfast/event"
)

// UpsertEntities folds the event into the entities that it speaks of and so completes it.
func (a *Activities) UpsertEntities(ctx context.Context, r event.Receipt, p event.Parsed) error {
	return a.Entities.UpsertEntities(ctx, r, p, currentRun(ctx))
}
