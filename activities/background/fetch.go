package background

import (
	"context"
	"errors"

	"holdfast/activities"
	"holdfast/event"
	"holdfast/event/operation"
)

// RebuildStore stores rebuilds and does their pages.
type RebuildStore interface {
	ParsedStore[operation.Rebuild]
	// Unfetched returns the next n events of a rebuild, without the ones whose state was fetched since it started.
	Unfetched(ctx context.Context, id string, n int) ([]event.Record, error)
}

// StateStore stores fetched states by event.
type StateStore interface {
	// ReplaceFetched stores the state of an event in place of an earlier one.
	ReplaceFetched(ctx context.Context, eventID string, f event.Fetched) error
}

// fetchedAtOnce is how many states are fetched between two commits of a rebuild.
const fetchedAtOnce = 10

// rebuildPage does a page of a rebuild. If that asks the provider's API again, the states of the page are fetched first. Events
// whose state can't be fetched stay unchanged, like those that can't be parsed.
func (a *Activities) rebuildPage(ctx context.Context, id string, n int) (operation.Rebuild, error) {
	r, err := a.Rebuilds.Read(ctx, id)
	var failed map[string]error
	if err == nil && r.Fetch && r.State == operation.Running {
		n = min(n, fetchedAtOnce)
		failed, err = a.fetchNext(ctx, id, n)
	}
	if err != nil {
		return r, err
	}
	return a.Rebuilds.Page(ctx, id, n, func(r event.Receipt, body []byte) (event.Parsed, error) {
		if err := failed[r.ID]; err != nil {
			return event.Parsed{}, err
		}
		return a.ParseAgain(r, body)
	})
}

// fetchNext fetches the states of the next n events of a rebuild, unless they were fetched since it started. It returns why
// some can't be fetched, by event ID.
func (a *Activities) fetchNext(ctx context.Context, id string, n int) (map[string]error, error) {
	events, err := a.Rebuilds.Unfetched(ctx, id, n)
	failed := map[string]error{}
	for _, e := range events {
		if err == nil {
			failed[e.Receipt.ID], err = a.fetch(ctx, e)
		}
	}
	return failed, err
}

// fetch gets the states of an event and stores them together. It waits as long as the provider asks. failed is why one of them
// can't be fetched; err is set only during an outage.
func (a *Activities) fetch(ctx context.Context, e event.Record) (failed, err error) {
	e.Receipt.Fetched = nil
	for {
		f, err := a.Fetcher.Fetch(ctx, e.Receipt, e.Body)
		var known *event.Error
		switch {
		case err == nil:
			e.Receipt.Fetched = &f
			continue
		case !errors.As(err, &known) || known.Code == "fetch_unavailable" && known.RetryAfter == 0:
			return nil, err
		case known.Code == "fetch_changed" && e.Receipt.Fetched != nil: // that was the last
			return nil, a.States.ReplaceFetched(ctx, e.Receipt.ID, *e.Receipt.Fetched)
		case known.Code == "fetch_changed": // the definition fetches nothing for it
			return nil, nil
		case known.Class != event.ClassTransient:
			return err, nil
		}
		if err := activities.Pause(ctx, known.RetryAfter); err != nil {
			return nil, err
		}
	}
}
