package redrive

import (
	"context"
	"fmt"

	"holdfast/event"
	"holdfast/event/fold"
	"holdfast/event/operation"
	"holdfast/event/oversight"
)

// RebuildBooks keeps rebuilds.
type RebuildBooks interface {
	// CreateRebuild stores a rebuild and audits it. It refuses a second one.
	CreateRebuild(ctx context.Context, r operation.Rebuild, actor oversight.Actor) (operation.Rebuild, error)
	// ChangeRebuild sets the state of one that has not ended, and audits it.
	ChangeRebuild(ctx context.Context, id string, to operation.State, actor oversight.Actor) (operation.Rebuild, error)
	// Rebuild reads one, as far as it has come.
	Rebuild(ctx context.Context, id string) (operation.Rebuild, error)
	// Rebuilds are the latest, newest first.
	Rebuilds(ctx context.Context, limit int) ([]operation.Rebuild, error)
	// RebuildDiff shows what would become of some entities that a dry run has found to differ.
	RebuildDiff(ctx context.Context, id string, parse event.Parser) ([]fold.EntityDiff, error)
}

// RebuildRuns starts the workflows of rebuilds.
type RebuildRuns interface {
	// WakeRebuild makes the workflow of a rebuild look at its row, and starts it if there is none.
	WakeRebuild(ctx context.Context, id string) error
}

// Rebuilds has stored events read again, with the definitions of the moment. Its methods may be called at the same time, by
// several processes.
type Rebuilds struct {
	Books RebuildBooks
	Runs  RebuildRuns
	// Parse reads events with the definitions of the moment.
	Parse event.Parser
}

// StartRebuild makes a rebuild of the events that have been accepted by now, at a rate in events a second, and starts its
// workflow. If only the latter fails the rebuild is made and returned beside the error: the next sweep, or a resume, starts it.
// Of a dry run no event and no entity is changed. While another one has not ended it is refused with an event.Error of code
// "rebuild_runs".
func (s *Rebuilds) StartRebuild(
	ctx context.Context, f operation.RebuildFilter, rate float64, dryRun bool, actor oversight.Actor,
) (operation.Rebuild, error) {
	if !(rate >= operation.MinRebuildRate && rate <= operation.MaxRebuildRate) {
		return operation.Rebuild{}, event.Rejectf("invalid_rate", "a rebuild has a rate of %g to %d events a second",
			operation.MinRebuildRate, operation.MaxRebuildRate)
	}
	r := operation.Rebuild{ID: operation.NewID(), Filter: f, DryRun: dryRun, Rate: rate, StartedBy: actor.Name}
	r, err := s.Books.CreateRebuild(ctx, r, actor)
	if err != nil {
		return operation.Rebuild{}, err
	}
	return r, s.wake(ctx, r.ID)
}

// ChangeRebuild pauses a rebuild, lets it go on (running; also one whose workflow is gone) or cancels it, which leaves what it
// has done. One that has ended is refused with an event.Error of class rejected and code "rebuild_ended".
func (s *Rebuilds) ChangeRebuild(
	ctx context.Context, id string, to operation.State, actor oversight.Actor,
) (operation.Rebuild, error) {
	r, err := s.Books.ChangeRebuild(ctx, id, to, actor)
	if err != nil {
		return operation.Rebuild{}, err
	}
	return r, s.wake(ctx, id)
}

func (s *Rebuilds) wake(ctx context.Context, id string) error {
	if err := s.Runs.WakeRebuild(ctx, id); err != nil {
		return fmt.Errorf("rebuild %s is recorded, and its workflow could not be woken (the next sweep will): %w", id, err)
	}
	return nil
}

// Rebuild reads one rebuild, as far as it has come.
func (s *Rebuilds) Rebuild(ctx context.Context, id string) (operation.Rebuild, error) {
	return s.Books.Rebuild(ctx, id)
}

// Rebuilds are the latest rebuilds, newest first.
func (s *Rebuilds) Rebuilds(ctx context.Context, limit int) ([]operation.Rebuild, error) {
	return s.Books.Rebuilds(ctx, limit)
}

// RebuildDiff shows what would become of some of the entities that a dry run has found to differ. It holds their states. Only the
// latest rebuild has one, and only if it is a dry run.
func (s *Rebuilds) RebuildDiff(ctx context.Context, id string) ([]fold.EntityDiff, error) {
	return s.Books.RebuildDiff(ctx, id, s.Parse)
}
