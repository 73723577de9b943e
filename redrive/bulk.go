package redrive

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"
	"time"

	"holdfast/event"
)

// Plan says what a redrive of the filter would take on now.
func (s *Service) Plan(ctx context.Context, f event.RedriveFilter) (event.RedrivePlan, error) {
	return s.Books.PlanRedrive(ctx, f)
}

// Start makes a redrive of what the filter finds now, at a rate in runs a second, and starts its workflow. If only the
// latter fails the redrive is made and returned beside the error: the next sweep, or Resume, starts it.
func (s *Service) Start(
	ctx context.Context, f event.RedriveFilter, rate float64, actor event.Actor,
) (event.Redrive, error) {
	if !(rate >= event.MinRedriveRate && rate <= event.MaxRedriveRate) {
		return event.Redrive{}, event.Rejectf("invalid_rate", "a redrive has a rate of %g to %d runs a second",
			event.MinRedriveRate, event.MaxRedriveRate)
	}
	r := event.Redrive{ID: newID(), Filter: f, Rate: rate, StartedBy: actor.Name}
	r, err := s.Books.CreateRedrive(ctx, r, actor)
	if err != nil {
		return event.Redrive{}, err
	}
	return r, s.wake(ctx, r.ID)
}

// newID is short enough to be typed, sorts by time, and is not met twice.
func newID() string {
	return time.Now().UTC().Format("20060102-150405-") + strings.ToLower(rand.Text()[:4])
}

// Pause stops a redrive from starting anything new; what has been started goes on.
func (s *Service) Pause(ctx context.Context, id string, actor event.Actor) (event.Redrive, error) {
	return s.change(ctx, id, event.RedrivePaused, actor)
}

// Resume lets a redrive go on that was paused, or whose workflow is gone.
func (s *Service) Resume(ctx context.Context, id string, actor event.Actor) (event.Redrive, error) {
	return s.change(ctx, id, event.RedriveRunning, actor)
}

// Cancel ends a redrive; what has been started goes on and is still counted.
func (s *Service) Cancel(ctx context.Context, id string, actor event.Actor) (event.Redrive, error) {
	return s.change(ctx, id, event.RedriveCanceled, actor)
}

// change writes the row, which is what counts, and then wakes the workflow, which would see it without that a little later.
func (s *Service) change(
	ctx context.Context, id string, to event.RedriveState, actor event.Actor,
) (event.Redrive, error) {
	r, err := s.Books.ChangeRedrive(ctx, id, to, actor)
	if err != nil {
		return event.Redrive{}, err
	}
	return r, s.wake(ctx, id)
}

func (s *Service) wake(ctx context.Context, id string) error {
	if err := s.Runs.WakeRedrive(ctx, id); err != nil {
		return fmt.Errorf("redrive %s is recorded, and its workflow could not be told (the next sweep will): %w", id, err)
	}
	return nil
}

// Show reads one redrive, as far as it has come.
func (s *Service) Show(ctx context.Context, id string) (event.Redrive, error) { return s.Books.Redrive(ctx, id) }

// List are the latest redrives, newest first.
func (s *Service) List(ctx context.Context, limit int) ([]event.Redrive, error) { return s.Books.Redrives(ctx, limit) }
