package activities

import (
	"context"

	"holdfast/event"
)

// Upserted is the result of the upsert step. It is null where the step has a transaction of its own and there is no verdict: to
// older runs any other result is a verdict.
type Upserted struct {
	// Verdict is set if an operator has decided about the event: then nothing was done.
	*event.Verdict

	// Entities says what the transaction has done to the entities of the event.
	Entities []string `json:"entities,omitempty"`
}

// UpsertEntities folds the event into the entities that it speaks of and so completes it, unless there is a verdict on it. Where the
// persist step has done so in its own transaction it says what that has done.
func (a *Activities) UpsertEntities(
	ctx context.Context, r event.Receipt, p event.Parsed, persisted event.Persisted,
) (*Upserted, error) {
	if persisted.Processed {
		return &Upserted{Entities: persisted.Entities}, nil
	}
	withoutEffect, err := a.Entities.UpsertEntities(ctx, r, p, currentRun(ctx))
	reportWithoutEffect(ctx, r.Provider, withoutEffect)
	verdict, err := verdictOf(err)
	if verdict == nil {
		return nil, err
	}
	return &Upserted{Verdict: verdict}, nil
}
