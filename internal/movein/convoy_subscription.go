package movein

import (
	"cmp"
	"context"

	"holdfast/delivery"
	"holdfast/event"
)

type convoySubscription struct {
	ID       string          `json:"uid"`
	Type     string          `json:"type"`
	Function *string         `json:"function"`
	Source   *convoyID       `json:"source_metadata"`
	Endpoint *convoyID       `json:"endpoint_metadata"`
	Retry    *convoyStrategy `json:"retry_config"`
	Filter   *struct {
		Types []string `json:"event_types"`
	} `json:"filter_config"`
}

// subscribe adds a subscription of the endpoint.
func (c *convoy) subscribe(ctx context.Context, e *Endpoint, to convoyEndpoint, s convoySubscription) error {
	if s.Type == "cli" {
		return nil // it is for a developer's machine
	}
	source := cmp.Or(to.Owner, to.ID)
	if s.Source != nil && s.Source.ID != "" {
		source = s.Source.ID
		e.lose("source "+s.Source.Name, "point its sender to a provider of Holdfast, and let the subscription select that")
	}
	var types []string
	if s.Filter != nil {
		types = withoutAll(s.Filter.Types)
	}
	made := subscription(nameOf(Convoy, s.ID), e.Destination.Name, source, types)
	made.Active = e.State != delivery.DestinationDisabled
	if s.Retry != nil && s.Retry.Count > 0 {
		e.Destination.Retry = s.Retry.retry()
	}
	if s.Function != nil && *s.Function != "" {
		e.hold("function", "its JavaScript needs to become the subscription's body, in jq")
	}
	var filters struct {
		Data items[convoyFilter] `json:"data"`
	}
	if err := c.get(ctx, c.path("subscriptions", s.ID, "filters"), nil, &filters); err != nil && !isNotFound(err) {
		return err
	}
	for _, f := range filters.Data {
		made.Events.Filter = and(made.Events.Filter, f.jq(e))
	}
	e.Subscriptions = append(e.Subscriptions, made)
	return nil
}

// convoyStrategy is a retry policy. Its duration is in seconds.
type convoyStrategy struct {
	Type     string `json:"type"`
	Duration uint64 `json:"duration"`
	Count    int    `json:"retry_count"`
}

// retry returns the policy of a strategy. Convoy counts all attempts, and its exponential pauses begin with twice the duration.
func (s convoyStrategy) retry() delivery.Retry {
	if s.Count == 0 || s.Duration == 0 {
		return delivery.Retry{}
	}
	if s.Type == "exponential" {
		const most = 7200 // seconds
		return delivery.Retry{Attempts: s.Count, Initial: durationOf(min(2*s.Duration, most)), Maximum: durationOf(most)}
	}
	return delivery.Retry{Attempts: s.Count, Schedule: []event.Duration{durationOf(s.Duration)}}
}
