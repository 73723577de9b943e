package activities

import (
	"context"
	"errors"

	"go.temporal.io/sdk/converter"

	"holdfast/event"
	"holdfast/providers"
)

// Recorded is what became of an event that the policies could not save.
type Recorded struct {
	// Verdict is set if an operator has decided about the event, or about the one that has its key: then nothing is kept.
	*event.Verdict

	// DuplicateOf is the event that has the key, if that one counts: then nothing is kept of this one.
	DuplicateOf string `json:"duplicate_of,omitempty"`
	// Owner is the dead event that has the key, if this redelivery counts as one more failure of that.
	Owner string `json:"owner,omitempty"`

	DeadLetterID int64 `json:"dead_letter_id,omitempty"`
}

// unknownOwner replaces the ID of the event that has the key; the failure's message names that event.
const unknownOwner = "unknown"

// RecordDeadLetter is the compensation: it keeps an event that the policies could not save, with its raw body and the
// reason, for an operator to replay. The result is null unless nothing is kept or the run wants the dead letter's number:
// older runs do not, and take any result for a verdict.
func (a *Activities) RecordDeadLetter(
	ctx context.Context, r event.Receipt, f event.Failure, body converter.RawValue, named bool,
) (*Recorded, error) {
	return a.recordDeadLetter(ctx, r, f, body.Payload().GetData(), named)
}

func (a *Activities) recordDeadLetter(
	ctx context.Context, r event.Receipt, f event.Failure, body []byte, named bool,
) (*Recorded, error) {
	run := currentRun(ctx)
	if f.Class == event.ClassConflict && r.ConflictsWith == "" {
		r = r.Apart(unknownOwner) // a replay must not meet the same conflict again
	}
	recorded, eventID, err := a.keepDeadLetter(ctx, event.DeadLetter{
		Receipt: r, Body: body, State: event.DeadLetterOpen, Run: run, Failure: f, Failures: 1, FirstFailed: f.At, LastFailed: f.At,
	})
	switch {
	case err != nil:
		return nil, err
	case recorded.Verdict != nil || recorded.DuplicateOf != "":
		return &recorded, nil
	case !named:
		return nil, nil
	}
	if recorded.DeadLetterID, err = a.DeadLetters.DeadLetterID(ctx, eventID, run.RunID); err != nil {
		recorded.DeadLetterID = 0 // it is recorded, which is what counts
	}
	return &recorded, nil
}

// keepDeadLetter records the dead letter. The redelivery of a dead event that Temporal no longer knows fails as that event,
// unless the definition leaves dead events to operators.
func (a *Activities) keepDeadLetter(ctx context.Context, d event.DeadLetter) (recorded Recorded, eventID string, err error) {
	err = a.DeadLetters.RecordDeadLetter(ctx, d)
	var duplicate *event.DuplicateError
	if errors.As(err, &duplicate) {
		switch {
		case duplicate.Conflict != nil:
			reportConflict(ctx, *duplicate.Conflict)
			return Recorded{DuplicateOf: duplicate.Owner}, "", nil
		case !duplicate.OwnerWaits:
			a.countDuplicate(ctx, d.Receipt, duplicate.Owner)
			return Recorded{DuplicateOf: duplicate.Owner}, "", nil
		case a.rejectsRedelivery(d.Receipt.Provider):
			return Recorded{DuplicateOf: duplicate.Owner}, "", nil
		}
		d.Receipt.ID, recorded.Owner = duplicate.Owner, duplicate.Owner
		err = a.DeadLetters.RecordDeadLetter(ctx, d)
	}
	recorded.Verdict, err = verdictOf(err)
	return recorded, d.Receipt.ID, err
}

func (a *Activities) rejectsRedelivery(provider string) bool {
	p, ok := a.Catalogue.Lookup(provider)
	return ok && p.Redelivery() == providers.RejectRedelivery
}
