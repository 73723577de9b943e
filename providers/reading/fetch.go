package reading

import (
	"context"
	"fmt"

	"holdfast/event"
	"holdfast/providers/decode"
	"holdfast/providers/jq"
	"holdfast/providers/recovery"
)

// FetchOf returns what is fetched for an event, and the values of its path; nil if nothing is. For an event with a fetched state,
// it is what that names.
func (p *Reader) FetchOf(r event.Receipt, body []byte) (*recovery.Fetch, map[string]string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), jq.Deadline)
	defer cancel()
	in, eventType, err := p.read(ctx, r, body)
	if err != nil {
		return nil, nil, err
	}
	first, values, err := p.fetchFor(ctx, eventType, in)
	if err != nil || first == nil || r.Fetched == nil {
		return first, values, err
	}
	return nextFetch(ctx, first, r.Fetched, in)
}

// fetchFor returns the first fetch that matches an event.
func (p *Reader) fetchFor(ctx context.Context, eventType string, in jq.Input) (*recovery.Fetch, map[string]string, error) {
	for _, f := range p.fetches {
		if !f.Matches(eventType) {
			continue
		}
		if values, ok, err := f.Values(ctx, in); err != nil || ok {
			return f, values, err
		}
	}
	return nil, nil, nil
}

// nextFetch makes the fetched states readable as .fetched and .also, and returns the GET that follows them, with the values of
// its path; nil if there is none.
func nextFetch(
	ctx context.Context, first *recovery.Fetch, fetched *event.Fetched, in jq.Input,
) (*recovery.Fetch, map[string]string, error) {
	states, err := fetched.States()
	if err != nil || len(states) == 0 { // gone
		return nil, nil, err
	}
	if in.Value["fetched"], err = decode.JSON(states[0]); err != nil {
		return nil, nil, fmt.Errorf("decode the fetched state: %w", err)
	}
	also := map[string]any{}
	in.Value["also"] = also
	for n, next := range first.Also {
		if n+1 == len(states) {
			values, ok, err := next.Values(ctx, in)
			if err != nil || !ok {
				next = nil
			}
			return next, values, err
		}
		if also[next.Name], err = decode.JSON(states[n+1]); err != nil {
			return nil, nil, fmt.Errorf("decode the fetched state %s: %w", next.Name, err)
		}
	}
	return nil, nil, nil
}

// addFetched makes the fetched states of an event readable. It returns what must be fetched next; nil for nothing. It removes
// states that don't apply: nothing is fetched for such an event any more, or what is gone is kept.
func (p *Reader) addFetched(
	ctx context.Context, r *event.Receipt, eventType string, in jq.Input,
) (*event.Fetch, error) {
	next, _, err := p.fetchFor(ctx, eventType, in)
	fetched := r.Fetched
	if r.Fetched = nil; err != nil || next == nil {
		return nil, err
	}
	switch {
	case fetched == nil:
	case fetched.Gone && !next.DeletesGone:
		return nil, nil
	default:
		r.Fetched = fetched
		if next, _, err = nextFetch(ctx, next, fetched, in); err != nil || next == nil {
			return nil, err
		}
	}
	return &event.Fetch{From: next.String(), Policy: recovery.FetchPolicy()}, nil
}
