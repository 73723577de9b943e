package delivery

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"sync"

	"holdfast/providers/definition"
	"holdfast/providers/jq"
)

// Codes of deliveries that fail before any attempt.
const (
	CodeFilterError  = "filter_error"   // the subscription's filter failed
	CodeOrderByError = "order_by_error" // its order_by failed
)

// Hit is a subscription that an event matches.
type Hit struct {
	SubscriptionID, DestinationID int64
	// Failed: the filter couldn't be evaluated, so it is unknown whether the event matches.
	Failed bool
	// OrderKey is the key within which the subscription's deliveries are ordered; "" if this one isn't.
	OrderKey string
	// OrderFailed: the event matches, and order_by couldn't be evaluated.
	OrderFailed bool
}

// Router finds the subscriptions that an event matches. It indexes them by provider, type, and the first comparison that a filter
// requires (see Events.Filter), so that the cost of an event depends on its candidates, not on the number of subscriptions. Equal
// filters are compiled once, and evaluated once for an event. It is safe for concurrent use.
type Router struct {
	mu      sync.RWMutex
	routes  map[int64]*route
	index   map[string]*providerIndex // by provider; "" for any
	filters map[string]*filter        // by source
}

// NewRouter returns an empty router.
func NewRouter() *Router {
	return &Router{routes: map[int64]*route{}, index: map[string]*providerIndex{}, filters: map[string]*filter{}}
}

// Len returns the number of active subscriptions.
func (r *Router) Len() int {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return len(r.routes)
}

// Put adds or replaces subscriptions. Inactive ones match nothing.
func (r *Router) Put(subscriptions ...Subscription) {
	fresh := make([]*route, 0, len(subscriptions))
	for _, s := range subscriptions {
		if s.Active {
			fresh = append(fresh, newRoute(s)) // filters are parsed outside of the lock
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range subscriptions {
		r.remove(s.ID)
	}
	for _, one := range fresh {
		r.remove(one.id) // for duplicates, the last one counts
		r.add(one)
	}
}

// Remove removes subscriptions.
func (r *Router) Remove(ids ...int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, id := range ids {
		r.remove(id)
	}
}

// Reads reports whether matching events of this provider and type may require the body.
func (r *Router) Reads(provider, eventType string) (reads bool) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	r.each(provider, eventType, func(b *bucket) {
		reads = reads || len(b.byPath) > 0 ||
			slices.ContainsFunc(b.always, func(one *route) bool { return one.filter != nil || one.order != nil })
	})
	return reads
}

// Match returns the subscriptions that an event matches, by ascending ID. It decodes the body at most once, and only if a filter
// needs it. The error is ctx's; a failed filter sets Hit.Failed, a failed order_by Hit.OrderFailed.
func (r *Router) Match(ctx context.Context, m Message) ([]Hit, error) {
	hits, _, err := r.MatchWithin(ctx, m, nil, func() bool { return false })
	return hits, err
}

// MatchWithin is Match for a limited time: it evaluates one filter, and the others until isSpent, first those that the index has
// selected. unmatched are the subscriptions whose filters are left, by ascending ID. If among isn't nil, it is sorted, and all
// other subscriptions are ignored.
//
// Subscriptions with order_by are never left: matched later, an event would come after later ones.
func (r *Router) MatchWithin(
	ctx context.Context, m Message, among []int64, isSpent func() bool,
) (hits []Hit, unmatched []int64, err error) {
	seen := &filterInput{message: m, results: map[*filter]filterResult{}}
	found := r.candidates(seen)
	if among != nil {
		found = slices.DeleteFunc(found, func(one *route) bool {
			_, isListed := slices.BinarySearch(among, one.id)
			return !isListed
		})
	}
	for _, isIndexed := range []bool{true, false} {
		for _, one := range found {
			if isIndexed != (one.path != "") || one.filter == nil || seen.has(one.filter) ||
				one.order == nil && len(seen.results) > 0 && isSpent() {
				continue
			}
			seen.results[one.filter] = one.filter.evaluate(ctx, seen)
			if err := ctx.Err(); err != nil {
				return nil, nil, err
			}
		}
	}
	hits, unmatched = seen.sort(ctx, found)
	return hits, unmatched, ctx.Err()
}

// candidates returns the routes for which only the rest of the filter is left to evaluate.
func (r *Router) candidates(seen *filterInput) (found []*route) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	r.each(seen.message.Receipt.Provider, seen.message.Type, func(b *bucket) {
		found = append(found, b.always...)
		for _, p := range b.byPath {
			if value, ok := jq.Comparable(seen.at(p.names)); ok {
				found = append(found, p.routes[value]...)
			}
		}
	})
	slices.SortFunc(found, func(a, b *route) int { return cmp.Compare(a.id, b.id) })
	return slices.Compact(found) // globs may overlap
}

// each calls visit with the buckets for a provider and a type.
func (r *Router) each(provider, eventType string, visit func(*bucket)) {
	names := []string{provider, ""}
	if provider == "" {
		names = names[1:]
	}
	for _, name := range names {
		if of := r.index[name]; of != nil {
			of.each(eventType, visit)
		}
	}
}

func (r *Router) add(one *route) {
	r.routes[one.id] = one
	for _, f := range []**filter{&one.filter, &one.order} {
		if *f != nil {
			*f = r.share(*f)
		}
	}
	for _, provider := range one.providers {
		of := r.index[provider]
		if of == nil {
			of = &providerIndex{exact: map[string]*bucket{}, globs: map[string]map[string]*bucket{}}
			r.index[provider] = of
		}
		for _, pattern := range one.types {
			of.bucketOf(pattern).add(one)
		}
	}
}

func (r *Router) remove(id int64) {
	one := r.routes[id]
	if one == nil {
		return
	}
	delete(r.routes, id)
	for _, f := range []*filter{one.filter, one.order} {
		if f == nil {
			continue
		}
		if f.uses--; f.uses == 0 {
			delete(r.filters, f.source)
		}
	}
	for _, provider := range one.providers {
		of := r.index[provider]
		for _, pattern := range one.types {
			b := of.bucketOf(pattern)
			if b.remove(one); b.isEmpty() {
				of.drop(pattern)
			}
		}
		if of.isEmpty() {
			delete(r.index, provider)
		}
	}
}

// share returns the filter of all routes with its source.
func (r *Router) share(f *filter) *filter {
	if r.filters[f.source] == nil {
		r.filters[f.source] = f
	}
	f = r.filters[f.source]
	f.uses++
	return f
}

// providerIndex holds the routes of one provider, or of any: by exact type, and by the literal prefix of a glob.
type providerIndex struct {
	exact map[string]*bucket
	globs map[string]map[string]*bucket
}

func (o *providerIndex) isEmpty() bool { return len(o.exact)+len(o.globs) == 0 }

func (o *providerIndex) bucketOf(pattern string) *bucket {
	buckets := o.exact
	if beginning, _, isGlob := strings.Cut(pattern, "*"); isGlob {
		if buckets = o.globs[beginning]; buckets == nil {
			buckets = map[string]*bucket{}
			o.globs[beginning] = buckets
		}
	}
	if buckets[pattern] == nil {
		buckets[pattern] = &bucket{pattern: definition.NewGlob(pattern)}
	}
	return buckets[pattern]
}

func (o *providerIndex) drop(pattern string) {
	beginning, _, isGlob := strings.Cut(pattern, "*")
	if !isGlob {
		delete(o.exact, pattern)
		return
	}
	if delete(o.globs[beginning], pattern); len(o.globs[beginning]) == 0 {
		delete(o.globs, beginning)
	}
}

func (o *providerIndex) each(eventType string, visit func(*bucket)) {
	if b := o.exact[eventType]; b != nil {
		visit(b)
	}
	if len(o.globs) == 0 {
		return
	}
	for n := range len(eventType) + 1 {
		for _, b := range o.globs[eventType[:n]] {
			if b.pattern.Match(eventType) {
				visit(b)
			}
		}
	}
}

// bucket holds the routes of one provider and pattern: those evaluated for every event, and those indexed by a required value.
type bucket struct {
	pattern definition.Glob
	always  []*route
	byPath  map[string]*byValue // by joined names of the path
}

type byValue struct {
	names  []string
	routes map[string][]*route
}

func (b *bucket) isEmpty() bool { return len(b.always)+len(b.byPath) == 0 }

func (b *bucket) add(one *route) {
	if one.path == "" {
		b.always = append(b.always, one)
		return
	}
	if b.byPath == nil {
		b.byPath = map[string]*byValue{}
	}
	p := b.byPath[one.path]
	if p == nil {
		p = &byValue{names: one.requires.Names, routes: map[string][]*route{}}
		b.byPath[one.path] = p
	}
	p.routes[one.requires.Value] = append(p.routes[one.requires.Value], one)
}

func (b *bucket) remove(one *route) {
	isIt := func(other *route) bool { return other == one }
	if one.path == "" {
		b.always = slices.DeleteFunc(b.always, isIt)
		return
	}
	p := b.byPath[one.path]
	if p == nil {
		return // already removed
	}
	value := one.requires.Value
	if p.routes[value] = slices.DeleteFunc(p.routes[value], isIt); len(p.routes[value]) == 0 {
		delete(p.routes, value)
	}
	if len(p.routes) == 0 {
		delete(b.byPath, one.path)
	}
}

// route is a subscription as the index needs it.
type route struct {
	id, destination  int64
	providers, types []string // "" for any provider, "*" for any type
	requires         jq.Equality
	path             string  // required path; "" if none
	filter           *filter // nil if the index says all
	order            *filter // order_by; nil without
}

func newRoute(s Subscription) *route {
	one := &route{
		id: s.ID, destination: s.DestinationID, providers: distinct(s.Events.Providers, ""), types: distinct(s.Events.Types, "*"),
	}
	required, alone, ok := jq.RequiredEquality(s.Events.Filter)
	if ok {
		one.requires, one.path = required, strings.Join(required.Names, "\x00")+"\x00"
	}
	if s.Events.Filter != "" && !alone {
		one.filter = newFilter(s.Events.Filter)
	}
	if s.OrderBy != "" {
		one.order = newFilter(string(s.OrderBy))
	}
	return one
}

// distinct returns unique names, or all if there are none.
func distinct(names []string, all string) []string {
	if len(names) == 0 {
		return []string{all}
	}
	set := map[string]bool{}
	for _, name := range names {
		set[name] = true
	}
	return slices.Collect(maps.Keys(set))
}
