package desk

import (
	"context"
	"fmt"
	"time"

	"holdfast/delivery"
	"holdfast/event"
	"holdfast/event/operation"
	"holdfast/event/oversight"
)

// ResendBooks keep resends. Each change writes one audit entry in its transaction.
type ResendBooks interface {
	PlanResend(ctx context.Context, subscription string, since, until time.Time) (delivery.ResendPlan, error)
	CreateResend(ctx context.Context, r delivery.Resend, by oversight.Actor) (delivery.Resend, error)
	ChangeResend(ctx context.Context, id string, to operation.State, by oversight.Actor) (delivery.Resend, error)
	Resend(ctx context.Context, id string) (delivery.Resend, error)
	// Resends are the latest, newest first.
	Resends(ctx context.Context, limit int) ([]delivery.Resend, error)
}

// ResendRuns starts the workflows of resends.
type ResendRuns interface {
	// WakeResend makes the workflow of a resend look at its row, and starts it if there is none.
	WakeResend(ctx context.Context, id string) error
}

// Resends send the events of a time again. Its methods may be called at the same time, by several processes.
type Resends struct {
	ResendBooks

	Runs ResendRuns
}

// StartResend makes a resend and starts its workflow. If only the latter fails the resend is made and returned beside the error:
// the next sweep, or a resume, starts it.
func (s *Resends) StartResend(ctx context.Context, r delivery.Resend, by oversight.Actor) (delivery.Resend, error) {
	if !(r.Rate >= delivery.MinResendRate && r.Rate <= delivery.MaxResendRate) {
		return delivery.Resend{}, event.Rejectf("invalid_rate", "a resend has a rate of %g to %d deliveries a second",
			delivery.MinResendRate, delivery.MaxResendRate)
	}
	r.ID, r.StartedBy = operation.NewID(), by.Name
	r, err := s.CreateResend(ctx, r, by)
	if err != nil {
		return delivery.Resend{}, err
	}
	return r, s.wake(ctx, r.ID)
}

// ChangeResend pauses a resend, lets it go on (running; also one whose workflow is gone) or cancels it, which leaves what it has
// queued. One that has ended is refused with an event.Error of class rejected.
func (s *Resends) ChangeResend(
	ctx context.Context, id string, to operation.State, by oversight.Actor,
) (delivery.Resend, error) {
	r, err := s.ResendBooks.ChangeResend(ctx, id, to, by)
	if err != nil {
		return delivery.Resend{}, err
	}
	return r, s.wake(ctx, id)
}

func (s *Resends) wake(ctx context.Context, id string) error {
	if err := s.Runs.WakeResend(ctx, id); err != nil {
		return fmt.Errorf("resend %s is recorded, and its workflow could not be woken (the next sweep will): %w", id, err)
	}
	return nil
}
