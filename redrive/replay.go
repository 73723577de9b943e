package redrive

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"

	"holdfast/event"
	"holdfast/event/operation"
	"holdfast/event/oversight"
)

// Replay runs one dead letter again: the same workflow ID, event ID and bytes. One that does not wait is refused with an
// *event.StateError, as is one whose event has an open run already; one whose latest run has processed the event, or stands in
// the way, with an *operation.RunExistsError. Of many replays of one dead letter at the same time one starts a run. Killed
// between its steps, it leaves a dead letter that is redriving; the sweep, or a replay after 15 minutes, finds it. A dead letter
// of a delivery is sent again, and starts no run.
func (s *Replays) Replay(ctx context.Context, id int64, actor oversight.Actor) (operation.Replayed, error) {
	owner := "replay-" + rand.Text()
	d, err := s.Letters.TakeForReplay(ctx, owner, id, actor)
	if err != nil {
		return operation.Replayed{}, err
	}
	if d.SubscriptionID != 0 {
		return s.redeliver(ctx, owner, d)
	}
	run, err := s.start(ctx, owner, d)
	if err != nil {
		return operation.Replayed{}, err
	}
	return operation.Replayed{DeadLetter: d.ID, EventID: d.Receipt.ID, Run: run}, nil
}

// redeliver sends again what could not be delivered. Its outcome is that of the dead letter.
func (s *Replays) redeliver(ctx context.Context, owner string, d event.DeadLetter) (operation.Replayed, error) {
	if err := s.Letters.Redeliver(ctx, d.Receipt.ID, d.SubscriptionID); err != nil {
		return operation.Replayed{}, errors.Join(fmt.Errorf("replay dead letter %d: %w", d.ID, err),
			s.Letters.GiveBack(context.WithoutCancel(ctx), owner, d.ID))
	}
	err := s.Letters.MarkStarted(ctx, owner, map[int64]string{d.ID: ""})
	return operation.Replayed{DeadLetter: d.ID, EventID: d.Receipt.ID}, err
}

// EditAndReplay runs a dead-lettered event with another body: as a new event, with a workflow ID of its own, which takes the
// place of the dead letter. If only the start of its run fails, the new event is an open dead letter, and the result has no
// run ID.
func (s *Replays) EditAndReplay(ctx context.Context, e operation.Edit, actor oversight.Actor) (operation.Replayed, error) {
	d, err := s.Letters.EditDeadLetter(ctx, e, actor)
	if err != nil {
		return operation.Replayed{}, err
	}
	replayed := operation.Replayed{
		DeadLetter: d.ID, EventID: d.Receipt.ID, Run: event.Run{WorkflowID: d.Receipt.WorkflowID()},
	}
	if run, err := s.start(ctx, "", d); err == nil {
		replayed.Run = run
	}
	return replayed, nil
}

// start runs a dead letter that the owner has taken.
func (s *Replays) start(ctx context.Context, owner string, d event.DeadLetter) (event.Run, error) {
	started, err := s.Runs.Replay(ctx, d)
	run, ok := operation.RunAfter(started, err)
	switch {
	case !ok:
		// The caller may have gone, and the dead letter must not wait for the sweep because of that.
		return run, errors.Join(fmt.Errorf("replay dead letter %d: %w", d.ID, unavailable(err)),
			s.Letters.GiveBack(context.WithoutCancel(ctx), owner, d.ID))
	case err != nil: // it stays taken by the run that is open
		err = fmt.Errorf("%w: %w", &event.StateError{ID: d.ID, State: event.DeadLetterRedriving}, err)
	}
	return run, errors.Join(err, s.Letters.MarkStarted(ctx, owner, map[int64]string{d.ID: run.RunID}))
}

// unavailable is the error of a start that was neither refused nor made: Temporal cannot be reached, or is in trouble. That
// is nobody's fault, and worth another try.
func unavailable(err error) error {
	var exists *operation.RunExistsError
	var classed *event.Error
	if errors.As(err, &exists) || errors.As(err, &classed) {
		return err
	}
	return &event.Error{Class: event.ClassTransient, Code: "temporal_unavailable", Text: "the run was not started", Err: err}
}
