package delivery_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/delivery"
	"holdfast/event"
	"holdfast/providers/definition"
	"holdfast/providers/jq"
)

// filter is a filter in its parts, as a naive matcher needs it.
type filter struct {
	source string
	path   []string // of the first comparison that it requires; nil if there is none
	value  any
}

func some[T any](r *rand.Rand, of ...T) T { return of[r.IntN(len(of))] }

// anyFilter joins up to three parts with "and".
func anyFilter(r *rand.Rand) (f filter) {
	var parts []string
	for range r.IntN(4) {
		path := some(r, []string{"body", "a"}, []string{"body", "o", "x"}, []string{"event", "source"}, []string{"headers", "h-1"})
		text := ""
		for _, name := range path {
			text += fmt.Sprintf("[%q]", name)
		}
		literal := some(r, `"x"`, `"y"`, `1`, `1.0`, `true`, `false`, `9007199254740993`)
		switch r.IntN(6) {
		case 0, 1:
			if parts = append(parts, "."+text+" == "+literal); f.path == nil && literal != `9007199254740993` {
				f.path, f.value = path, decoded(literal)
			}
		case 2:
			if parts = append(parts, "("+literal+" == ."+text+")"); f.path == nil && literal != `9007199254740993` {
				f.path, f.value = path, decoded(literal)
			}
		case 3:
			parts = append(parts, "."+text+" != "+literal)
		case 4:
			parts = append(parts, "(.body.a | tonumber) > 0") // fails for most
		case 5:
			parts = append(parts, `(.body.a == "x" or .event.type == "t.b")`)
		}
	}
	f.source = strings.Join(parts, " and ")
	return f
}

func decoded(text string) (v any) {
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		panic(err)
	}
	return v
}

// naive says what the doc comments say, one subscription after the other.
func naive(t *testing.T, all map[int64]delivery.Subscription, filters map[int64]filter, m delivery.Message) (hits []delivery.Hit) {
	t.Helper()
	in := m.Input()
	for id, s := range all {
		f := filters[id]
		if !s.Active || len(s.Events.Providers) > 0 && !slices.Contains(s.Events.Providers, m.Receipt.Provider) ||
			len(s.Events.Types) > 0 && !definition.AnyMatch(definition.Globs(s.Events.Types), m.Type) {
			continue
		}
		hit := delivery.Hit{SubscriptionID: id, DestinationID: s.DestinationID}
		if f.path != nil && plain(in.At(f.path)) != f.value {
			continue
		}
		if f.source != "" {
			x, err := jq.Compile("filter", f.source)
			require.NoError(t, err)
			v, err := x.First(t.Context(), in, nil)
			if hit.Failed = err != nil; err == nil && v != true {
				continue
			}
		}
		hits = append(hits, hit)
	}
	slices.SortFunc(hits, func(a, b delivery.Hit) int { return int(a.SubscriptionID - b.SubscriptionID) })
	return hits
}

// plain is a value as encoding/json has it.
func plain(v any) any {
	switch v := v.(type) {
	case json.Number:
		n, _ := v.Float64()
		return n
	case string, bool:
		return v
	}
	return struct{}{}
}

// Whatever the index leaves out is what a look at each subscription leaves out, while subscriptions come, change and go.
func TestTheRouterFindsWhatANaiveMatcherFinds(t *testing.T) {
	t.Parallel()
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 1))
		router, all, filters := delivery.NewRouter(), map[int64]delivery.Subscription{}, map[int64]filter{}
		hits := 0
		for range 300 {
			switch id := r.Int64N(40) + 1; r.IntN(6) {
			case 0:
				router.Remove(id)
				delete(all, id)
			case 1, 2, 3:
				f := anyFilter(r)
				s := delivery.Subscription{ID: id, DestinationID: id * 10, Active: r.IntN(8) > 0, Events: delivery.Events{Filter: f.source}}
				for range r.IntN(3) {
					s.Events.Providers = append(s.Events.Providers, some(r, "p", "q", "r"))
				}
				for range r.IntN(3) {
					s.Events.Types = append(s.Events.Types, some(r, "t.a", "t.*", "*.a", "*", "t.*.c", "u.*", "t.b", "*t*"))
				}
				router.Put(s)
				all[id], filters[id] = s, f
			default:
				m := anyMessage(r)
				got, err := router.Match(t.Context(), m)
				require.NoError(t, err)
				want := naive(t, all, filters, m)
				require.Equal(t, want, got, "seed %d: %+v", seed, m)
				hits += len(got)
				require.True(t, len(want) == 0 || !needsBody(want, filters) || router.Reads(m.Receipt.Provider, m.Type))
			}
		}
		require.NotZero(t, hits)
		for id := range all {
			router.Remove(id)
		}
		require.Zero(t, router.Len())
		require.Equal(t, delivery.NewRouter(), router, "nothing is left of what is gone")
	}
}

func needsBody(hits []delivery.Hit, filters map[int64]filter) bool {
	return slices.ContainsFunc(hits, func(h delivery.Hit) bool { return strings.Contains(filters[h.SubscriptionID].source, "body") })
}

func anyMessage(r *rand.Rand) delivery.Message {
	return delivery.Message{
		Receipt: event.Receipt{
			ID: "e", Provider: some(r, "p", "q", "other"), Key: "k", Source: some(r, "", "x"),
			Headers: some(r, nil, map[string]string{"h-1": "y"}),
		},
		Type: some(r, "t.a", "t.b", "t.b.c", "u.a", "t"),
		Body: []byte(some(r, `{"a":"x"}`, `{"a":1}`, `{"a":1.00,"o":{"x":true}}`, `{"a":"1","o":"x"}`, `{"a":9007199254740993}`, `[1]`, `no`, ``,
			`{"a":false,"o":{"x":"x"}}`, `null`)),
	}
}

// A filter that runs forever only delays its own subscription, within its budget.
func TestAFilterIsBoundedByItsCost(t *testing.T) {
	t.Parallel()
	router := delivery.NewRouter()
	router.Put(
		delivery.Subscription{ID: 1, Active: true, Events: delivery.Events{Filter: `[limit(1000000; repeat(1))] | length > 0`}},
		delivery.Subscription{ID: 2, Active: true, Events: delivery.Events{Filter: `true`}},
		delivery.Subscription{ID: 3, Active: true, Events: delivery.Events{Filter: `no such jq (`}},
		delivery.Subscription{ID: 4, Active: true, Events: delivery.Events{Filter: `"true"`}},
		delivery.Subscription{ID: 5, Active: true, Events: delivery.Events{Filter: `empty`}})
	hits, err := router.Match(t.Context(), delivery.Message{})
	require.NoError(t, err)
	require.Equal(t, []delivery.Hit{{SubscriptionID: 1, Failed: true}, {SubscriptionID: 2}, {SubscriptionID: 3, Failed: true}}, hits)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = router.Match(ctx, delivery.Message{})
	require.ErrorIs(t, err, context.Canceled, "that is no fault of a filter")
}

// Of 10,000 subscriptions an event looks at the few that it may match.
func BenchmarkRouter(b *testing.B) {
	body := []byte(`{"id":"evt_1","account":"a77","data":{"object":{"id":"cus_1","email":"` + strings.Repeat("x", 2000) + `"}}}`)
	m := delivery.Message{Receipt: event.Receipt{Provider: "p", ReceivedAt: time.Now()}, Type: "customer.created", Body: body}
	for name, events := range map[string]func(i int) delivery.Events{
		"account": func(i int) delivery.Events { return delivery.Events{Filter: fmt.Sprintf(`.body.account == "a%d"`, i)} },
		"account+rest": func(i int) delivery.Events {
			return delivery.Events{Filter: fmt.Sprintf(`.body.account == "a%d" and (.body.id | startswith("evt"))`, i)}
		},
		"type":     func(i int) delivery.Events { return delivery.Events{Types: []string{fmt.Sprintf("t%d", i)}} },
		"glob":     func(i int) delivery.Events { return delivery.Events{Types: []string{fmt.Sprintf("t%d.*", i)}} },
		"provider": func(i int) delivery.Events { return delivery.Events{Providers: []string{fmt.Sprintf("p%d", i)}} },
	} {
		b.Run(name, func(b *testing.B) {
			router := delivery.NewRouter()
			for i := range 10_000 {
				router.Put(delivery.Subscription{ID: int64(i + 1), Active: true, Events: events(i)})
			}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := router.Match(b.Context(), m); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// Of 10,000 equal filters one is evaluated: an event allocates little more than the list of its matches.
func TestEqualFiltersAreEvaluatedOnce(t *testing.T) { //nolint:paralleltest // it counts the allocations of the process
	for name, text := range map[string]string{"all match": "evt", "none matches": "other"} {
		router := delivery.NewRouter()
		for i := range 10_000 {
			router.Put(delivery.Subscription{
				ID: int64(i + 1), Active: true, Events: delivery.Events{Filter: fmt.Sprintf(`.body.id | startswith(%q)`, text)},
			})
		}
		m := delivery.Message{Receipt: event.Receipt{Provider: "p"}, Type: "t", Body: []byte(`{"id":"evt_1"}`)}
		match := func() {
			hits, unmatched, err := router.MatchWithin(t.Context(), m, nil, func() bool {
				require.Fail(t, "it asked for time for a second filter")
				return true
			})
			require.NoError(t, err)
			require.Empty(t, unmatched)
			require.Equal(t, text == "evt", len(hits) == 10_000)
		}
		match() // compiles the filter
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		match()
		runtime.ReadMemStats(&after)
		allocated := after.TotalAlloc - before.TotalAlloc
		t.Logf("%s: %d kB", name, allocated>>10)
		require.Less(t, allocated, uint64(1<<20), name)
	}
}

// Filters are evaluated until the time for them is over: those that the index has selected first, and each only once. What is left
// is what a later call must match to find all.
func TestFiltersThatAreLeft(t *testing.T) {
	t.Parallel()
	router := delivery.NewRouter()
	for i := range int64(100) {
		filter := fmt.Sprintf(`(.body.id | length) %% %d == 0`, i/2+1) // two have each
		switch {
		case i == 40:
			filter = ""
		case i >= 90:
			filter = fmt.Sprintf(`.body.id == "12" and (.body.id | length) < %d`, i)
		}
		router.Put(delivery.Subscription{ID: i, Active: true, Events: delivery.Events{Filter: filter}})
	}
	m := delivery.Message{Type: "t", Body: []byte(`{"id":"12"}`)}
	want, err := router.Match(t.Context(), m)
	require.NoError(t, err)
	for limit := 1; limit < 50; limit += 7 {
		var found []delivery.Hit
		var left []int64
		for calls := 0; calls == 0 || left != nil; calls++ {
			evaluated := 0
			hits, unmatched, err := router.MatchWithin(t.Context(), m, left, func() bool { evaluated++; return evaluated >= limit })
			require.NoError(t, err)
			require.True(t, slices.IsSorted(unmatched))
			if calls == 0 {
				require.Contains(t, hits, delivery.Hit{SubscriptionID: 40})
				require.NotEmpty(t, unmatched)
				require.Equal(t, limit < 10, slices.Max(unmatched) >= 90, "those by the index come first")
			}
			found, left = append(found, hits...), unmatched
		}
		slices.SortFunc(found, func(a, b delivery.Hit) int { return int(a.SubscriptionID - b.SubscriptionID) })
		require.Equal(t, want, found)
	}
}

// What the costliest filter takes that is not refused.
func BenchmarkCostlyFilter(b *testing.B) {
	router := delivery.NewRouter()
	router.Put(delivery.Subscription{ID: 1, Active: true, Events: delivery.Events{Filter: `[limit(1000000; repeat(1))] | length > 0`}})
	for b.Loop() {
		if _, err := router.Match(b.Context(), delivery.Message{}); err != nil {
			b.Fatal(err)
		}
	}
}
