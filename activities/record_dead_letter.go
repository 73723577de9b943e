package activities

import (
	"context"
	"errors"

	"go.temporal.io/sdk/converter"

	"holdfast/event"
)

// Recorded is the result of recording a dead letter.
type Recorded struct {
	// Decision is set if an operator decided about the event, or about the owner of its key: no dead letter was created.
	*event.Decision

	// DuplicateOf is the event that owns the key, if this one is a duplicate: no dead letter was created.
	DuplicateOf string `json:"duplicate_of,omitempty"`
	// Owner is the dead event that owns the key, if this redelivery counts as another failure of it.
	Owner string `json:"owner,omitempty"`

	DeadLetterID int64 `json:"dead_letter_id,omitempty"`
}

// unknownOwner replaces the ID of the owner; the failure's message names it.
const unknownOwner = "unknown"

// RecordDeadLetter is the compensation: it stores an event that the retry policies couldn't save, with its raw body and the
// reason, for an operator to replay.
func (a *Activities) RecordDeadLetter(
	ctx context.Context, r event.Receipt, f event.Failure, body converter.RawValue,
) (*Recorded, error) {
	return a.recordDeadLetter(ctx, r, f, body.Payload().GetData())
}

func (a *Activities) recordDeadLetter(
	ctx context.Context, r event.Receipt, f event.Failure, body []byte,
) (*Recorded, error) {
	run := currentRun(ctx)
	switch {
	case f.Class != event.ClassConflict || r.ConflictsWith != "":
	case f.Code == event.CodeCorrectedConflict:
		r.ConflictsWith = unknownOwner
	default:
		r = r.WithConflictKey(unknownOwner) // otherwise a replay meets the same conflict
	}
	recorded, eventID, err := a.keepDeadLetter(ctx, event.DeadLetter{
		Receipt: r, Body: body, State: event.DeadLetterOpen, Run: run, Failure: f, Failures: 1, FirstFailed: f.At, LastFailed: f.At,
	})
	switch {
	case err != nil:
		return nil, err
	case recorded.Decision != nil || recorded.DuplicateOf != "":
		return &recorded, nil
	}
	if recorded.DeadLetterID, err = a.DeadLetters.DeadLetterID(ctx, eventID, run.RunID); err != nil {
		recorded.DeadLetterID = 0 // it is recorded anyway
	}
	return &recorded, nil
}

// keepDeadLetter records the dead letter. If the event is the redelivery of a dead event whose run is no longer in Temporal, it
// fails as that event, unless the definition rejects redeliveries.
func (a *Activities) keepDeadLetter(ctx context.Context, d event.DeadLetter) (recorded Recorded, eventID string, err error) {
	err = a.DeadLetters.RecordDeadLetter(ctx, d)
	if duplicate, ok := errors.AsType[*event.DuplicateError](err); ok {
		switch {
		case duplicate.Conflict != nil:
			reportConflict(ctx, *duplicate.Conflict)
			return Recorded{DuplicateOf: duplicate.Owner}, "", nil
		case !duplicate.OwnerWaits:
			a.countDuplicate(ctx, d.Receipt, duplicate.Owner, false)
			return Recorded{DuplicateOf: duplicate.Owner}, "", nil
		case a.rejectsRedelivery(d.Receipt.Provider):
			return Recorded{DuplicateOf: duplicate.Owner}, "", nil
		}
		d.Receipt.ID, recorded.Owner = duplicate.Owner, duplicate.Owner
		err = a.DeadLetters.RecordDeadLetter(ctx, d)
	}
	recorded.Decision, err = decisionOf(err)
	return recorded, d.Receipt.ID, err
}

func (a *Activities) rejectsRedelivery(provider string) bool {
	p, ok := a.Catalogue.Lookup(provider)
	return ok && p.RejectsRedelivery()
}

// decisionOf extracts an operator's decision from an error: it ends a run without failing it.
func decisionOf(err error) (*event.Decision, error) {
	if decision, ok := errors.AsType[*event.DecisionError](err); ok {
		return &decision.Decision, nil
	}
	return nil, err
}
