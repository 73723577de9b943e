package activities

import (
	"context"
	"errors"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"

	"holdfast/event"
	"holdfast/event/tally"
)

// PersistEvent stores the event and its raw body, unless another event owns its key. If possible, it also upserts the entities in
// the same transaction, which saves a commit and a step. Otherwise the upsert step does it.
func (a *Activities) PersistEvent(
	ctx context.Context, r event.Receipt, body converter.RawValue, p event.Parsed,
) (event.Persisted, error) {
	return a.persist(ctx, r, body.Payload().GetData(), p)
}

func (a *Activities) persist(ctx context.Context, r event.Receipt, body []byte, p event.Parsed) (event.Persisted, error) {
	persisted, err := a.store(ctx, r, body, p)
	if event.CodeOf(err) == event.CodeKeyConflict {
		if again, ok := a.asRedelivery(ctx, r, body, p, persisted.Conflict); ok {
			return again, nil
		}
	}
	if persisted.Conflict != nil {
		reportConflict(ctx, *persisted.Conflict)
	}
	if err == nil && persisted.Duplicate && persisted.Conflict == nil && !persisted.OwnerWaits {
		a.countDuplicate(ctx, r, persisted.Owner, false)
	}
	reportWithoutEffect(ctx, r.Provider, persisted.WithoutEffect)
	reportPossibleDuplicate(ctx, r.Provider, persisted.PossibleDuplicateOf, err)
	if decided, ok := errors.AsType[*event.DecisionError](err); ok {
		persisted.PassedTo = decided.PassedTo
	}
	persisted.Decision, err = decisionOf(err)
	if err == nil && persisted.Decision == nil && !persisted.Duplicate {
		a.countMapping(ctx, r.Provider, p.Mapping())
		reportOmitted(ctx, r, p.Omitted)
	}
	return persisted, err
}

func (a *Activities) store(ctx context.Context, r event.Receipt, body []byte, p event.Parsed) (event.Persisted, error) {
	if p.Splits > 0 {
		return a.split(ctx, r, body, p)
	}
	return a.Events.Write(ctx, event.WholeOrRow, r, body, p, currentRun(ctx))
}

// reportConflict logs and counts an event whose key turned out to belong to another event after the acknowledgment.
func reportConflict(ctx context.Context, c event.Conflict) {
	tally.Conflict(ctx, c.Provider)
	activity.GetLogger(ctx).Warn("event.conflict", "provider", c.Provider, "source", c.Source,
		"workflow_id", event.WorkflowID(c.Provider, c.Key), "event_id", c.EventID, "owner_id", c.Owner,
		"fingerprint", c.Fingerprint, "owner_fingerprint", c.OwnerFingerprint)
}
