package delivery_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast/delivery"
	"holdfast/event"
)

func TestOrderKeys(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("k", delivery.MaxOrderKey)
	for value, want := range map[any]string{
		nil: "", "": "", "cus_1": "cus_1", 7: "7", 1.5: "1.5", true: "true", "a\x00b\xff": "a\ufffdb\ufffd", long: long,
	} {
		key, err := delivery.OrderKey(value)
		require.NoError(t, err)
		require.Equal(t, want, key)
	}
	one, err := delivery.OrderKey([]any{"a", map[string]any{"c": 1, "b": 2}})
	require.NoError(t, err)
	require.Equal(t, `["a",{"b":2,"c":1}]`, one)

	first, err := delivery.OrderKey(long + "1")
	require.NoError(t, err)
	second, err := delivery.OrderKey(long + "2")
	require.NoError(t, err)
	require.NotEqual(t, first, second, "long keys stay apart")
	require.LessOrEqual(t, len(first), delivery.MaxOrderKey)
}

func orderedBy(id int64, filter, by string) delivery.Subscription {
	return delivery.Subscription{
		ID: id, Name: fmt.Sprintf("s%d", id), Active: true, Events: delivery.Events{Filter: filter}, OrderBy: delivery.JQ(by),
	}
}

func TestAHitHasItsOrderKey(t *testing.T) {
	t.Parallel()
	r := delivery.NewRouter()
	r.Put(
		orderedBy(1, "", ".body.customer"), orderedBy(2, "", ".body.nothing"), orderedBy(3, "", `.body.customer | error`),
		orderedBy(4, `.body.customer == "cus_1"`, ".event.type"), orderedBy(5, `error("no")`, ".body.customer"),
		orderedBy(6, "", ""),
	)
	require.True(t, r.Reads("acme", "x"), "the key is in the body")
	hits, err := r.Match(t.Context(), delivery.Message{
		Receipt: event.Receipt{Provider: "acme"}, Type: "thing.changed", Body: []byte(`{"customer":"cus_1"}`),
	})
	require.NoError(t, err)
	require.Equal(t, []delivery.Hit{
		{SubscriptionID: 1, OrderKey: "cus_1"}, {SubscriptionID: 2}, {SubscriptionID: 3, OrderFailed: true},
		{SubscriptionID: 4, OrderKey: "thing.changed"}, {SubscriptionID: 5, Failed: true}, {SubscriptionID: 6},
	}, hits)
	r.Remove(1, 2, 3, 4, 5, 6)
	require.False(t, r.Reads("acme", "x"))
}

// An ordered delivery that is matched a second later would come after those of later events.
func TestSubscriptionsWithAnOrderAreMatchedAtOnce(t *testing.T) {
	t.Parallel()
	r := delivery.NewRouter()
	r.Put(orderedBy(1, ".body.n > 0", ""), orderedBy(2, ".body.n > 1", ".body.n"), orderedBy(3, ".body.n > 2", ""))
	hits, unmatched, err := r.MatchWithin(t.Context(), delivery.Message{
		Receipt: event.Receipt{Provider: "acme"}, Body: []byte(`{"n":5}`),
	}, nil, func() bool { return true })
	require.NoError(t, err)
	require.Equal(t, []delivery.Hit{{SubscriptionID: 1}, {SubscriptionID: 2, OrderKey: "5"}}, hits)
	require.Equal(t, []int64{3}, unmatched)
}

func TestAnInvalidOrderIsRefused(t *testing.T) {
	t.Parallel()
	s := delivery.Subscription{Name: "a", To: "a", OrderBy: ".body["}
	require.ErrorContains(t, s.Check(), "order_by")
	s.OrderBy = ".body.customer"
	require.NoError(t, s.Check())
}
