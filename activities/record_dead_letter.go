package activities

import (
	"context"

	"go.temporal.io/sdk/converter"

	"holdfast/event"
)

// RecordDeadLetter is the compensation: it keeps an event that the policies could not save, with its raw body and the
// reason, for an operator to replay. If one has decided about the event already, it gives the verdict and keeps nothing.
func (a *Activities) RecordDeadLetter(
	ctx context.Context, r event.Receipt, f event.Failure, body converter.RawValue,
) (*event.Verdict, error) {
	return verdictOf(a.DeadLetters.RecordDeadLetter(ctx, event.DeadLetter{
		Receipt:     r,
		Body:        body.Payload().GetData(),
		State:       event.DeadLetterOpen,
		Run:         currentRun(ctx),
		Failure:     f,
		Failures:    1,
		FirstFailed: f.At,
		LastFailed:  f.At,
	}))
}
