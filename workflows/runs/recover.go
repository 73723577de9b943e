package runs

import (
	"context"
	"errors"

	"holdfast/event"
)

// codeNotStarted is the code of an event that Temporal refuses, or whose workflow ID isn't free.
const codeNotStarted = "not_started"

// Recover starts the run of an event that never arrived. isNew is false if another event has its key: whatever has become of
// that one, also if it is of another dedupe window and still being processed, it isn't run again. A repeated call finds the
// event's own run. An event.Error of class rejected means that the event can't be started.
func (s *Starter) Recover(ctx context.Context, r event.Receipt, body []byte) (isNew bool, err error) {
	started, err := s.Start(ctx, r, body, true)
	if errors.Is(err, ErrKeyBusy) {
		return false, nil
	}
	if IsRefused(err) || IsIDTaken(err) {
		return false, event.Rejectf(codeNotStarted, "%s", err.Error())
	}
	return started.EventID == r.ID, err
}
