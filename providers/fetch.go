package providers

import (
	"context"
	"fmt"

	"holdfast/event"
	"holdfast/providers/decode"
	"holdfast/providers/jq"
	"holdfast/providers/recovery"
)

// FetchOf returns what is fetched for an event, and the values of its path; nil if nothing is.
func (p *Provider) FetchOf(r event.Receipt, body []byte) (*recovery.Fetch, map[string]string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), jq.Deadline)
	defer cancel()
	in, eventType, err := p.read(ctx, r, body)
	if err != nil {
		return nil, nil, err
	}
	return p.fetchFor(ctx, eventType, in)
}

// fetchFor returns the first fetch that matches an event.
func (p *Provider) fetchFor(ctx context.Context, eventType string, in jq.Input) (*recovery.Fetch, map[string]string, error) {
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

// addFetched makes the fetched state of an event readable as .fetched. Without one, it returns what must be fetched; nil for
// nothing. It removes a state that doesn't apply: nothing is fetched for such an event any more, or what is gone is kept.
func (p *Provider) addFetched(
	ctx context.Context, r *event.Receipt, eventType string, in jq.Input,
) (*event.Fetch, error) {
	of, _, err := p.fetchFor(ctx, eventType, in)
	fetched := r.Fetched
	if r.Fetched = nil; err != nil || of == nil {
		return nil, err
	}
	switch {
	case fetched == nil:
		return &event.Fetch{From: of.String(), Policy: recovery.FetchPolicy()}, nil
	case fetched.Gone && !of.DeletesGone:
		return nil, nil
	}
	if r.Fetched = fetched; fetched.Gone {
		return nil, nil
	}
	if in.Value["fetched"], err = decode.JSON(fetched.State); err != nil {
		return nil, fmt.Errorf("decode the fetched state: %w", err)
	}
	return nil, nil
}
