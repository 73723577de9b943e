package activities

import (
	"context"

	"go.temporal.io/sdk/converter"

	"holdfast/event"
)

// Recorded is what became of an event that the policies could not save.
type Recorded struct {
	// Verdict is set if an operator has decided about the event already: then nothing is kept.
	*event.Verdict

	DeadLetterID int64 `json:"dead_letter_id,omitempty"`
}

// unknownOwner replaces the ID of the event that has the key; the failure's message names that event.
const unknownOwner = "unknown"

// RecordDeadLetter is the compensation: it keeps an event that the policies could not save, with its raw body and the
// reason, for an operator to replay. The result is null unless there is a verdict or the run wants the dead letter's number:
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
	verdict, err := verdictOf(a.DeadLetters.RecordDeadLetter(ctx, event.DeadLetter{
		Receipt:     r,
		Body:        body,
		State:       event.DeadLetterOpen,
		Run:         run,
		Failure:     f,
		Failures:    1,
		FirstFailed: f.At,
		LastFailed:  f.At,
	}))
	switch {
	case err != nil:
		return nil, err
	case verdict != nil:
		return &Recorded{Verdict: verdict}, nil
	case !named:
		return nil, nil
	}
	id, err := a.DeadLetters.DeadLetterID(ctx, r.ID, run.RunID)
	if err != nil {
		id = 0 // it is recorded, which is what counts
	}
	return &Recorded{DeadLetterID: id}, nil
}
