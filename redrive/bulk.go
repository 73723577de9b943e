package redrive

import (
	"context"
	"fmt"

	"holdfast/event"
	"holdfast/event/operation"
	"holdfast/event/oversight"
)

// PlanRedrive says what a redrive of the filter would take on now.
func (s *Service) PlanRedrive(ctx context.Context, f operation.RedriveFilter) (operation.RedrivePlan, error) {
	return s.Books.PlanRedrive(ctx, f)
}

// StartRedrive makes a redrive of what the filter finds now, at a rate in runs a second, and starts its workflow. If only the
// latter fails the redrive is made and returned beside the error: the next sweep, or a resume, starts it.
func (s *Service) StartRedrive(
	ctx context.Context, f operation.RedriveFilter, rate float64, actor oversight.Actor,
) (operation.Redrive, error) {
	if !(rate >= operation.MinRedriveRate && rate <= operation.MaxRedriveRate) {
		return operation.Redrive{}, event.Rejectf("invalid_rate", "a redrive has a rate of %g to %d runs a second",
			operation.MinRedriveRate, operation.MaxRedriveRate)
	}
	r := operation.Redrive{ID: operation.NewID(), Filter: f, Rate: rate, StartedBy: actor.Name}
	r, err := s.Books.CreateRedrive(ctx, r, actor)
	if err != nil {
		return operation.Redrive{}, err
	}
	return r, s.wake(ctx, r.ID)
}

// ChangeRedrive pauses a redrive, lets it go on (running; also one whose workflow is gone) or cancels it. What it has started
// goes on all the same, and is still counted. The row is what counts: the workflow is woken, and would see it without that a
// little later. One that has ended is refused with an event.Error of class rejected and code "redrive_ended".
func (s *Service) ChangeRedrive(
	ctx context.Context, id string, to operation.State, actor oversight.Actor,
) (operation.Redrive, error) {
	r, err := s.Books.ChangeRedrive(ctx, id, to, actor)
	if err != nil {
		return operation.Redrive{}, err
	}
	return r, s.wake(ctx, id)
}

func (s *Service) wake(ctx context.Context, id string) error {
	if err := s.Runs.WakeRedrive(ctx, id); err != nil {
		return fmt.Errorf("redrive %s is recorded, and its workflow could not be told (the next sweep will): %w", id, err)
	}
	return nil
}

// Redrive reads one redrive, as far as it has come.
func (s *Service) Redrive(ctx context.Context, id string) (operation.Redrive, error) {
	return s.Books.Redrive(ctx, id)
}

// Redrives are the latest redrives, newest first.
func (s *Service) Redrives(ctx context.Context, limit int) ([]operation.Redrive, error) {
	return s.Books.Redrives(ctx, limit)
}
