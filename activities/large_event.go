package activities

import (
	"context"

	"holdfast/event"
)

// The steps of events that are too large for the arguments or the result of an activity. Each gets the receipt without its root,
// reads the rest from the first event of the history, and parses the event again. They have their own names, because an older
// worker would store an event without its body.

// LargeInput is the max size in bytes of an event, or of its changes, that is passed between steps. Temporal terminates a run
// whose activity arguments exceed 2 MiB.
const LargeInput = 512 << 10

// InputReader reads the input of a run.
type InputReader interface {
	// Input returns the receipt and the body of the run's event.
	Input(ctx context.Context, run event.Run) (event.Receipt, []byte, error)
}

// BodyReader reads bodies that PostgreSQL has.
type BodyReader interface {
	// LargeBody returns the body of a large event: from the inbox, the event's row or its dead letter. The error has
	// event.CodeBodyLost if none of them has it.
	LargeBody(ctx context.Context, r event.Receipt) ([]byte, error)
	// EventBody returns the body of a stored event; nil if PostgreSQL doesn't have it.
	EventBody(ctx context.Context, id string) ([]byte, error)
}

// ParseLargeEvent is ParseEvent, but omits the changes from its result.
func (a *Activities) ParseLargeEvent(ctx context.Context, r event.Receipt) (event.Parsed, error) {
	_, p, err := a.readLarge(ctx, &r)
	p.Changes = nil
	return p, err
}

// PersistLargeEvent is PersistEvent for a large event.
func (a *Activities) PersistLargeEvent(ctx context.Context, r event.Receipt) (event.Persisted, error) {
	body, p, err := a.readLarge(ctx, &r)
	if err != nil {
		return event.Persisted{}, err
	}
	return a.persist(ctx, r, body, p)
}

// UpsertLargeEntities is UpsertEntities for a large event.
func (a *Activities) UpsertLargeEntities(ctx context.Context, r event.Receipt) (*Upserted, error) {
	_, p, err := a.readLarge(ctx, &r)
	if err != nil {
		return nil, err
	}
	return a.UpsertEntities(ctx, r, p, event.Persisted{})
}

// RecordLargeDeadLetter is RecordDeadLetter for a large event; it returns the dead letter ID.
func (a *Activities) RecordLargeDeadLetter(ctx context.Context, r event.Receipt, f event.Failure) (*Recorded, error) {
	body, err := a.readRun(ctx, &r) // of a body that is in PostgreSQL, the dead letter gets a copy there
	if err != nil {
		return nil, err
	}
	return a.recordDeadLetter(ctx, r, f, body)
}

// readInput completes the receipt and returns the body.
func (a *Activities) readInput(ctx context.Context, r *event.Receipt) (body []byte, err error) {
	if body, err = a.readRun(ctx, r); err != nil || r.Large == nil {
		return body, err
	}
	return a.Bodies.LargeBody(ctx, *r)
}

// readRun completes the receipt and returns the body that the history has.
func (a *Activities) readRun(ctx context.Context, r *event.Receipt) (body []byte, err error) {
	first, body, err := a.Inputs.Input(ctx, currentRun(ctx))
	r.Root = first.Root
	return body, err
}

func (a *Activities) readLarge(ctx context.Context, r *event.Receipt) (body []byte, p event.Parsed, err error) {
	if body, err = a.readInput(ctx, r); err != nil {
		return nil, p, err
	}
	p, err = a.parse(ctx, *r, body)
	return body, p, err
}

// isLarge reports whether the changes are too large to be passed between steps.
func isLarge(p event.Parsed) bool {
	const names = 100 // overhead of a change or name, in bytes
	size := 0
	for _, c := range p.Changes {
		size += names + len(c.Kind) + len(c.ExternalID) + len(c.State)
		for _, n := range c.Names {
			size += names + len(n.Name)
		}
	}
	return size > LargeInput
}
