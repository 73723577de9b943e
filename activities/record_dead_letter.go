package activities

import (
	"context"

	"go.temporal.io/sdk/converter"

	"holdfast/event"
)

// RecordDeadLetter is the compensation: it keeps an event that the policies could not save, with its raw body and the
// reason, for an operator to replay.
func (a *Activities) RecordDeadLetter(
	ctx context.Context, r event.Receipt, f event.Failure, body converter.RawValue,
) error {
	return a.DeadLetters.RecordDeadLetter(ctx, event.DeadLetter{
		Receipt:     r,
		Body:        body.Payload().GetData(),
		State:       event.DeadLetterOpen,
		Run:         currentRun(ctx),
		Failure:     f,
		Failures:    1,
		FirstFailed: f.At,
		LastFailed:  f.At,
	})
}
