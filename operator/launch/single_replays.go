// Package launch starts replays of single dead letters and operations (replays, rebuilds, resends and imports). It calls the
// store, which records the request, and then starts the run, which is the safe order. The command line and the operator API both
// use it.
//
// It must not depend on SQL, Temporal or HTTP.
package launch

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"

	"holdfast/event"
	"holdfast/event/operation"
	"holdfast/event/oversight"
)

// DeadLetters claims dead letters.
type DeadLetters interface {
	// ClaimForReplay claims an open dead letter, and audits it. The error is an *event.StateError if it isn't open.
	ClaimForReplay(ctx context.Context, owner string, id int64, actor oversight.Actor) (event.DeadLetter, error)
	// DropFetched removes the state that was fetched for the event of a claimed dead letter, and audits it.
	DropFetched(ctx context.Context, d event.DeadLetter, actor oversight.Actor) error
	// EditDeadLetter replaces a dead letter with a new event, and audits it. The new dead letter is claimed, without an owner.
	EditDeadLetter(ctx context.Context, e operation.Edit, actor oversight.Actor) (event.DeadLetter, error)
	// MarkStarted stores run IDs by dead letter ID.
	MarkStarted(ctx context.Context, owner string, runs map[int64]string) error
	// Release returns claimed dead letters to their open state.
	Release(ctx context.Context, owner string, ids ...int64) error
	// Redeliver sends an event again to a subscription whose delivery failed, without processing it again.
	Redeliver(ctx context.Context, eventID string, subscriptionID int64) error
}

// Runs starts runs.
type Runs interface {
	// Replay runs a dead letter again. The error is an operation.RunExistsError if the latest run of its workflow is open or has
	// processed the event.
	Replay(ctx context.Context, d event.DeadLetter) (event.Run, error)
}

// SingleReplays runs single dead letters again. It is safe for concurrent use, also across processes.
type SingleReplays struct {
	DeadLetters DeadLetters
	Runs        Runs
}

// Replay runs one dead letter again, with the same workflow ID, event ID and bytes. A dead letter of a delivery is sent again
// instead.
//
// The error is an *event.StateError if the dead letter isn't open or its event has an open run. It is an
// *operation.RunExistsError if the latest run has processed the event, or blocks the workflow ID. Of concurrent replays, only one
// starts a run. If the process dies between its steps, the dead letter stays replaying until the sweep, or a replay after 15
// minutes, releases it.
func (s *SingleReplays) Replay(ctx context.Context, id int64, actor oversight.Actor) (operation.Replayed, error) {
	return s.replay(ctx, id, actor, func(event.DeadLetter) error { return nil })
}

// Fetch is Replay, but asks the provider's API again for the state behind the event.
func (s *SingleReplays) Fetch(ctx context.Context, id int64, actor oversight.Actor) (operation.Replayed, error) {
	return s.replay(ctx, id, actor, func(d event.DeadLetter) error { return s.DeadLetters.DropFetched(ctx, d, actor) })
}

func (s *SingleReplays) replay(
	ctx context.Context, id int64, actor oversight.Actor, prepare func(event.DeadLetter) error,
) (operation.Replayed, error) {
	owner := "replay-" + rand.Text()
	d, err := s.DeadLetters.ClaimForReplay(ctx, owner, id, actor)
	if err != nil {
		return operation.Replayed{}, err
	}
	if d.SubscriptionID != 0 {
		return s.redeliver(ctx, owner, d)
	}
	if err := prepare(d); err != nil {
		return operation.Replayed{}, errors.Join(err, s.DeadLetters.Release(context.WithoutCancel(ctx), owner, d.ID))
	}
	run, err := s.start(ctx, owner, d)
	if err != nil {
		return operation.Replayed{}, err
	}
	return operation.Replayed{DeadLetter: d.ID, EventID: d.Receipt.ID, Run: run}, nil
}

// redeliver sends a failed delivery again. Its result resolves the dead letter.
func (s *SingleReplays) redeliver(ctx context.Context, owner string, d event.DeadLetter) (operation.Replayed, error) {
	if err := s.DeadLetters.Redeliver(ctx, d.Receipt.ID, d.SubscriptionID); err != nil {
		return operation.Replayed{}, errors.Join(fmt.Errorf("replay dead letter %d: %w", d.ID, err),
			s.DeadLetters.Release(context.WithoutCancel(ctx), owner, d.ID))
	}
	err := s.DeadLetters.MarkStarted(ctx, owner, map[int64]string{d.ID: ""})
	return operation.Replayed{DeadLetter: d.ID, EventID: d.Receipt.ID}, err
}

// EditAndReplay replaces a dead letter with a new event with another body and its own workflow ID, and runs that. If only the
// start fails, the new event is an open dead letter, and the result has no run ID.
func (s *SingleReplays) EditAndReplay(ctx context.Context, e operation.Edit, actor oversight.Actor) (operation.Replayed, error) {
	d, err := s.DeadLetters.EditDeadLetter(ctx, e, actor)
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

// start runs a claimed dead letter.
func (s *SingleReplays) start(ctx context.Context, owner string, d event.DeadLetter) (event.Run, error) {
	started, err := s.Runs.Replay(ctx, d)
	run, ok := operation.RunAfter(started, err)
	switch {
	case !ok:
		// Release the dead letter even if the caller has disconnected.
		return run, errors.Join(fmt.Errorf("replay dead letter %d: %w", d.ID, unavailable(err)),
			s.DeadLetters.Release(context.WithoutCancel(ctx), owner, d.ID))
	case err != nil: // it stays claimed by the open run
		err = fmt.Errorf("%w: %w", &event.StateError{ID: d.ID, State: event.DeadLetterReplaying}, err)
	}
	return run, errors.Join(err, s.DeadLetters.MarkStarted(ctx, owner, map[int64]string{d.ID: run.RunID}))
}

// unavailable classifies an error of a start that was neither rejected nor successful as transient.
func unavailable(err error) error {
	var exists *operation.RunExistsError
	var classed *event.Error
	if errors.As(err, &exists) || errors.As(err, &classed) {
		return err
	}
	return &event.Error{Class: event.ClassTransient, Code: "temporal_unavailable", Text: "the run was not started", Err: err}
}
