package activities

import (
	"context"

	"go.temporal.io/sdk/converter"

	"holdfast/event"
)

// StateStore stores fetched states by event.
type StateStore interface {
	// Fetched returns the state that was fetched for an event; nil if there is none.
	Fetched(ctx context.Context, eventID string) (*event.Fetched, error)
	// SaveFetched stores the states of an event, unless there are others, and returns what is stored.
	SaveFetched(ctx context.Context, eventID string, f event.Fetched) (event.Fetched, error)
}

// Fetcher gets states from providers' APIs.
type Fetcher interface {
	// CanFetch reports whether the credential for what an event needs is configured.
	CanFetch(r event.Receipt, body []byte) bool
	// Fetch gets the next state of an event, and returns it with those of the receipt. The error is an *event.Error, or that of
	// the context or the database.
	Fetch(ctx context.Context, r event.Receipt, body []byte) (event.Fetched, error)
}

// FetchState gets the state of what the event, or a state that is stored for it, names from the provider's API, and stores it
// next to the event. Its result only describes the states: the parse step reads them from the store. A state that is stored
// already isn't fetched again.
func (a *Activities) FetchState(ctx context.Context, r event.Receipt, body converter.RawValue) (event.Fetched, error) {
	return a.fetch(ctx, r, body.Payload().GetData())
}

// FetchLargeState is FetchState for a large event.
func (a *Activities) FetchLargeState(ctx context.Context, r event.Receipt) (event.Fetched, error) {
	body, err := a.readInput(ctx, &r)
	if err != nil {
		return event.Fetched{}, err
	}
	return a.fetch(ctx, r, body)
}

func (a *Activities) fetch(ctx context.Context, r event.Receipt, body []byte) (event.Fetched, error) {
	stored, err := a.States.Fetched(ctx, r.ID)
	if err != nil {
		return event.Fetched{}, err
	}
	if r.Fetched = stored; stored != nil && !a.Fetcher.CanFetch(r, body) {
		return *stored, nil
	}
	f, err := a.Fetcher.Fetch(ctx, r, body)
	if err != nil {
		return event.Fetched{}, err
	}
	return a.States.SaveFetched(ctx, r.ID, f)
}

// addFetched parses an event again with its fetched state, if that is stored. Without the state or a credential for it, the event
// is processed as it came.
func (a *Activities) addFetched(
	ctx context.Context, r event.Receipt, body []byte, parsed event.Parsed,
) (event.Parsed, error) {
	if a.States == nil {
		parsed.Fetch = nil
		return parsed, nil
	}
	stored, err := a.States.Fetched(ctx, r.ID)
	if r.Fetched = stored; stored != nil {
		parsed, err = a.parser()(r, body)
	}
	if err != nil {
		return event.Parsed{}, err
	}
	if parsed.Fetch != nil && !a.Fetcher.CanFetch(r, body) {
		parsed.Fetch = nil
	}
	return parsed, nil
}
