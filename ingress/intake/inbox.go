package intake

import (
	"context"
	"errors"
	"time"

	"github.com/sony/gobreaker/v2"

	"holdfast/event"
	"holdfast/workflows/runs"
)

// Spooler stores acknowledged events until they are processed. A nil error means that the event is committed. stored is false
// if an event with the same workflow ID is already waiting: this one is its duplicate. An *event.ConflictError means that the
// waiting event is a different one.
type Spooler interface {
	Spool(ctx context.Context, lane event.Lane, r event.Receipt, body []byte, rejectRedelivery bool) (stored bool, err error)
	// SpoolLate commits an event whose start is in flight to the overflow lane. The drain skips it for delay.
	SpoolLate(ctx context.Context, r event.Receipt, body []byte, rejectRedelivery bool, delay time.Duration) (stored bool, err error)
	// Copy commits a copy of an event that Temporal has, unless it is stored already. The drain checks it after delay. An
	// *event.ConflictError means that another event with the same workflow ID is in the inbox.
	Copy(ctx context.Context, r event.Receipt, body []byte, delay time.Duration) error
	// KeepLarge commits the body of an event that is too large for Temporal. The drain starts the event after delay. stored is
	// false if the event has one already.
	KeepLarge(ctx context.Context, r event.Receipt, body []byte, rejectRedelivery bool, delay time.Duration) (stored bool, err error)
}

// inbox is the spooler behind two breakers, so that requests don't wait for a database that is down.
type inbox struct {
	spooler Spooler // nil if not configured
	breaker *gobreaker.CircuitBreaker[bool]
	// large is the breaker of large bodies: that 25 MiB don't arrive in time says nothing about other events.
	large *gobreaker.CircuitBreaker[bool]
}

func newInbox(s Spooler) *inbox {
	return &inbox{spooler: s, breaker: newInboxBreaker("inbox"), large: newInboxBreaker("large inbox")}
}

func newInboxBreaker(name string) *gobreaker.CircuitBreaker[bool] {
	return gobreaker.NewCircuitBreaker[bool](gobreaker.Settings{
		Name:         name,
		Timeout:      breakerPause,
		ReadyToTrip:  func(c gobreaker.Counts) bool { return c.ConsecutiveFailures >= tripAfter },
		IsSuccessful: func(err error) bool { return err == nil || event.ClassOf(err) == event.ClassRejected },
		IsExcluded:   func(err error) bool { return errors.Is(err, context.Canceled) }, // the start came first
	})
}

func (b *inbox) isConfigured() bool { return b.spooler != nil }

// isDown reports whether there is no inbox or its database is considered down.
func (b *inbox) isDown() bool { return !b.isConfigured() || b.breaker.State() != gobreaker.StateClosed }

func (b *inbox) spool(ctx context.Context, lane event.Lane, e event.Received) (runs.Started, error) {
	return execute(b.breaker, e.Receipt, func() (bool, error) {
		return b.spooler.Spool(ctx, lane, e.Receipt, e.Body, e.RejectRedelivery)
	})
}

// spoolLate commits to the inbox an event whose start is in flight.
func (b *inbox) spoolLate(ctx context.Context, e event.Received, delay time.Duration) (runs.Started, error) {
	return execute(b.breaker, e.Receipt, func() (bool, error) {
		return b.spooler.SpoolLate(ctx, e.Receipt, e.Body, e.RejectRedelivery, delay)
	})
}

// copy commits a copy of an event that Temporal has.
func (b *inbox) copy(ctx context.Context, e event.Received) error {
	s, err := execute(b.breaker, e.Receipt, func() (bool, error) {
		return false, b.spooler.Copy(ctx, e.Receipt, e.Body, copyPause(0))
	})
	if s.Conflict != nil {
		return &event.ConflictError{Conflict: *s.Conflict}
	}
	return err
}

// keepLarge commits the body of a large event.
func (b *inbox) keepLarge(ctx context.Context, e event.Received) error {
	_, err := execute(b.large, e.Receipt, func() (bool, error) {
		return b.spooler.KeepLarge(ctx, e.Receipt, e.Body, e.RejectRedelivery, largePause)
	})
	return err
}

// execute calls spool through a breaker. Duplicates and conflicts aren't errors.
func execute(
	breaker *gobreaker.CircuitBreaker[bool], r event.Receipt, spool func() (bool, error),
) (s runs.Started, err error) {
	defer guard("spool event "+r.ID, &err)
	var conflict *event.Conflict
	stored, err := breaker.Execute(func() (bool, error) {
		var refused *event.ConflictError
		stored, err := spool()
		if errors.As(err, &refused) {
			conflict, err = &refused.Conflict, nil
		}
		return stored, err
	})
	switch {
	case err != nil:
		return s, err
	case stored:
		return runs.Started{WorkflowID: r.WorkflowID(), EventID: r.ID, State: StateSpooled, Fingerprint: r.Fingerprint}, nil
	case conflict != nil:
		return runs.Started{
			WorkflowID: r.WorkflowID(), EventID: conflict.Owner, State: runs.StateProcessing, Fingerprint: conflict.OwnerFingerprint,
			Conflict: conflict,
		}, nil
	default:
		return runs.Started{WorkflowID: r.WorkflowID(), State: runs.StateProcessing}, nil
	}
}
