package activities

import (
	"context"

	"holdfast/event"
)

// Upserted is the result of the upsert step. It is null if the step has its own transaction and there is no decision: older runs
// treat any other result as a decision.
type Upserted struct {
	// Decision is set if an operator decided about the event: nothing was changed.
	*event.Decision

	// Entities describes what the transaction did to the entities.
	Entities []string `json:"entities,omitempty"`
}

// UpsertEntities folds the event into its entities and completes it. If the persist step has done so, it only returns what that
// did.
func (a *Activities) UpsertEntities(
	ctx context.Context, r event.Receipt, p event.Parsed, persisted event.Persisted,
) (*Upserted, error) {
	if persisted.Processed {
		return &Upserted{Entities: persisted.Entities}, nil
	}
	upserted, err := a.Events.Write(ctx, event.EntitiesOnly, r, nil, p, currentRun(ctx))
	reportWithoutEffect(ctx, r.Provider, upserted.WithoutEffect)
	decision, err := decisionOf(err)
	if decision == nil {
		return nil, err
	}
	return &Upserted{Decision: decision}, nil
}
