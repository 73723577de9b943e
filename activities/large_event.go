package activities

import (
	"context"

	"holdfast/event"
)

// This file has the steps of events that are too large to be the arguments or the result of an activity. Each gets the receipt
// without its root, reads the rest from the first event of the run's history, and parses the event again. They have names of
// their own, since an older worker that is given no body would store an event without one.

// LargeInput is the size in bytes up to which an event, or what its definition makes of it, is passed from step to step. Temporal
// takes at most 2 MiB as the arguments of an activity, and terminates a run that exceeds this.
const LargeInput = 512 << 10

// InputReader reads what a run was started with.
type InputReader interface {
	// Input returns the receipt and the body of the run's event.
	Input(ctx context.Context, run event.Run) (event.Receipt, []byte, error)
}

// ParseLargeEvent is ParseEvent without the changes in its result.
func (a *Activities) ParseLargeEvent(ctx context.Context, r event.Receipt) (event.Parsed, error) {
	_, p, err := a.readLarge(ctx, &r)
	p.Changes = nil
	return p, err
}

// PersistLargeEvent is PersistEvent.
func (a *Activities) PersistLargeEvent(ctx context.Context, r event.Receipt) (event.Persisted, error) {
	body, p, err := a.readLarge(ctx, &r)
	if err != nil {
		return event.Persisted{}, err
	}
	return a.persist(ctx, r, body, p)
}

// UpsertLargeEntities is UpsertEntities.
func (a *Activities) UpsertLargeEntities(ctx context.Context, r event.Receipt) (*Upserted, error) {
	_, p, err := a.readLarge(ctx, &r)
	if err != nil {
		return nil, err
	}
	return a.UpsertEntities(ctx, r, p, event.Persisted{})
}

// RecordLargeDeadLetter is RecordDeadLetter for a run that wants the dead letter's number.
func (a *Activities) RecordLargeDeadLetter(ctx context.Context, r event.Receipt, f event.Failure) (*Recorded, error) {
	body, err := a.readInput(ctx, &r)
	if err != nil {
		return nil, err
	}
	return a.recordDeadLetter(ctx, r, f, body, true)
}

// readInput completes the receipt and returns the body.
func (a *Activities) readInput(ctx context.Context, r *event.Receipt) (body []byte, err error) {
	first, body, err := a.Inputs.Input(ctx, currentRun(ctx))
	r.Root = first.Root
	return body, err
}

func (a *Activities) readLarge(ctx context.Context, r *event.Receipt) (body []byte, p event.Parsed, err error) {
	if body, err = a.readInput(ctx, r); err != nil {
		return nil, p, err
	}
	p, err = a.parse(*r, body)
	return body, p, err
}

// isLarge says whether the changes of an event are too large to be passed on.
func isLarge(p event.Parsed) bool {
	const names = 100 // what the fields of a change take beside their values, in bytes
	size := 0
	for _, c := range p.Changes {
		size += names + len(c.Kind) + len(c.ExternalID) + len(c.State)
		for _, n := range c.Names {
			size += names + len(n.Name)
		}
	}
	return size > LargeInput
}
