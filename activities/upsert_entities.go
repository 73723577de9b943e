package activities

import (
	"context"

	"holdfast/event"
)

// UpsertEntities folds the event into the entities that it speaks of and so completes it, unless there is a
// verdict on it, which it gives.
func (a *Activities) UpsertEntities(ctx context.Context, r event.Receipt, p event.Parsed) (*event.Verdict, error) {
	return verdictOf(a.Entities.UpsertEntities(ctx, r, p, currentRun(ctx)))
}
