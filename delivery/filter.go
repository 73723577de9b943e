package delivery

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"holdfast/providers/jq"
)

// filterBudget limits the filter of one subscription for one event to a few milliseconds. It counts steps instead of time, so
// that load on the machine can't fail a filter.
var filterBudget = jq.Budget{Steps: 100_000, Cost: 8 << 20}

// filter is a filter that the index doesn't replace, or an order_by. It is compiled on first use: of 10,000 filters, few are ever
// needed.
type filter struct {
	source   string
	uses     int // by routes; guarded by Router.mu
	compiled func() (*jq.Expression, error)
}

func newFilter(source string) *filter {
	return &filter{source: source, compiled: sync.OnceValues(func() (*jq.Expression, error) {
		return jq.Compile("events.filter", source)
	})}
}

type filterResult struct{ matches, failed bool }

func (f *filter) evaluate(ctx context.Context, seen *filterInput) filterResult {
	v, err := f.value(ctx, seen)
	return filterResult{matches: v == true, failed: err != nil}
}

func (f *filter) value(ctx context.Context, seen *filterInput) (any, error) {
	x, err := f.compiled()
	if err != nil {
		return nil, err
	}
	return x.FirstWithin(ctx, seen.input(x), filterBudget)
}

// filterInput caches the input of filters, and their results.
type filterInput struct {
	message Message
	facts   *jq.Input // without the body
	whole   *jq.Input
	results map[*filter]filterResult
	keys    map[*filter]orderResult
}

func (s *filterInput) has(f *filter) bool {
	_, has := s.results[f]
	return has
}

// sort separates routes that match or whose filters failed from those whose filters weren't evaluated. It reuses the slice.
func (s *filterInput) sort(ctx context.Context, found []*route) (hits []Hit, unmatched []int64) {
	matching := found[:0]
	for _, one := range found {
		switch result := s.results[one.filter]; {
		case one.filter == nil || result.matches || result.failed:
			matching = append(matching, one)
		case !s.has(one.filter):
			unmatched = append(unmatched, one.id)
		}
	}
	if len(matching) > 0 {
		hits = make([]Hit, len(matching))
	}
	for i, one := range matching {
		hits[i] = Hit{SubscriptionID: one.id, DestinationID: one.destination, Failed: s.results[one.filter].failed}
		if one.order != nil && !hits[i].Failed {
			key := s.orderOf(ctx, one.order)
			hits[i].OrderKey, hits[i].OrderFailed = key.key, key.failed
		}
	}
	return hits, unmatched
}

func (s *filterInput) input(x *jq.Expression) jq.Input {
	return s.see(x.Dependencies.Body || strings.Contains(x.Source, "$root"))
}

func (s *filterInput) at(names []string) any { return s.see(names[0] == "body").At(names) }

func (s *filterInput) see(body bool) jq.Input {
	if body && s.whole == nil {
		in := s.message.Input()
		s.whole = &in
	}
	if s.whole != nil {
		return *s.whole
	}
	if s.facts == nil {
		in := s.message.inputOf(nil, nil)
		s.facts = &in
	}
	return *s.facts
}

// FilterCost is what the filter of a subscription adds to the processing of an event.
type FilterCost struct {
	// Index is the path whose comparison is indexed, such as ".body.account"; "" if there is none.
	Index string
	// Took is the time for what the index leaves of the filter; 0 if that is nothing.
	Took time.Duration
}

// FilterCost measures the filter with an event, without decoding the body, which is done once for all filters.
func (e Events) FilterCost(ctx context.Context, m Message) (cost FilterCost) {
	one := newRoute(Subscription{Events: e})
	if one.path != "" {
		cost.Index = "." + strings.Join(one.requires.Names, ".")
	}
	if one.filter != nil {
		cost.Took = timeOf(ctx, m, []*filter{one.filter})
	}
	return cost
}

// FilterTime measures all filters together that are evaluated for an event, without decoding the body.
func (r *Router) FilterTime(ctx context.Context, m Message) time.Duration {
	distinct := map[*filter]struct{}{}
	for _, one := range r.candidates(&filterInput{message: m}) {
		if one.filter != nil {
			distinct[one.filter] = struct{}{}
		}
	}
	return timeOf(ctx, m, slices.Collect(maps.Keys(distinct)))
}

// timeOf returns the shortest of several evaluations; an additional one compiles the filters and decodes the body.
func timeOf(ctx context.Context, m Message, filters []*filter) (shortest time.Duration) {
	const times = 3
	seen := &filterInput{message: m}
	for n := range times + 1 {
		begin := time.Now()
		for _, f := range filters {
			f.evaluate(ctx, seen)
		}
		if took := time.Since(begin); n == 1 || n > 1 && took < shortest {
			shortest = took
		}
	}
	return shortest
}
