package movein

import (
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
		return nil // of a developer's machine
	}
	source := sourceOf(to.Owner, to.ID)
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

// convoyFilter is a filter of a subscription for one event type, or * for all. RawBody is as it was written; Body has its paths.
type convoyFilter struct {
	Type    string         `json:"event_type"`
	Headers map[string]any `json:"headers"`
	Body    map[string]any `json:"body"`
	RawBody map[string]any `json:"raw_body"`
	Query   map[string]any `json:"query"`
	Path    map[string]any `json:"path"`
}

// jq translates a filter; "" for one that selects everything.
func (f convoyFilter) jq(e *Endpoint) string {
	if len(f.Headers)+len(f.Query)+len(f.Path) > 0 {
		e.hold("filter of headers, query or path", "published events have none: filter by a field of the body")
		return ""
	}
	body := f.RawBody
	if len(body) == 0 {
		body = f.Body
	}
	test, err := filter{root: ".body.data", of: Convoy}.jq(body)
	if err != nil {
		e.hold("filter", err.Error())
	}
	if test == "" || f.Type == "*" || f.Type == "" {
		return test
	}
	return "(.event.type != " + quoted(f.Type) + " or " + test + ")"
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
