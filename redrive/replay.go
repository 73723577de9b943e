package redrive

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"

	"holdfast/event"
)

// Replay runs one dead letter again: the same workflow ID, event ID and bytes. It is refused with an event.Error of class
// rejected: "dead_letter_" and the state for one that does not wait, "run_open" and "run_succeeded" if the latest run of
// its workflow says so. Of many replays of one dead letter at the same time one starts a run. Killed between its steps, it
// leaves a dead letter that is redriving; the sweep, or a replay after 15 minutes, finds it.
func (s *Service) Replay(ctx context.Context, id int64, actor event.Actor) (event.Run, error) {
	owner := "replay-" + rand.Text()
	d, err := s.Letters.TakeForReplay(ctx, owner, id, actor)
	if err != nil {
		return event.Run{}, err
	}
	run, err := s.Runs.Replay(ctx, d)
	var exists *event.RunExistsError
	switch {
	case err == nil:
		return run, s.Letters.MarkStarted(ctx, owner, map[int64]string{id: run.RunID})
	case errors.As(err, &exists) && exists.Open:
		// It stays taken: the run decides what becomes of it.
		refused := event.Rejectf("run_open", "dead letter %d is being processed by run %s already", id, exists.Run.RunID)
		return exists.Run, errors.Join(refused, s.Letters.MarkStarted(ctx, owner, map[int64]string{id: exists.Run.RunID}))
	case exists != nil:
		err = event.Rejectf("run_succeeded", "the latest run of dead letter %d (%s) has succeeded: discard it", id,
			exists.Run.RunID)
	}
	// The request may have been cut, and the dead letter must not wait for the sweep because of that.
	return event.Run{}, errors.Join(fmt.Errorf("replay dead letter %d: %w", id, err),
		s.Letters.GiveBack(context.WithoutCancel(ctx), owner, id))
}
