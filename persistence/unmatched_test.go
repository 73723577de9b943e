package persistence_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/delivery"
	"holdfast/event"
	"holdfast/event/retention"
	"holdfast/persistence/subscriptions"
)

// someFilters is a budget for n filters, whatever time they take.
func someFilters(n int) func(time.Duration) func() bool {
	return func(time.Duration) func() bool {
		evaluated := 0
		return func() bool {
			evaluated++
			return evaluated >= n
		}
	}
}

// everyOther makes subscriptions with different filters that no index replaces. Those with an even number want the event.
const everyOther = `(.body.id | startswith("evt_1")) and (N % 2 | . == 0)`

// wantingEvents returns the subscriptions that everyOther has made and that want the event.
func (d *database) wantingEvents() []int64 {
	d.t.Helper()
	return value[[]int64](d, `
SELECT array_agg(id ORDER BY id) FROM subscriptions WHERE name ~ '^s\d+$' AND substr(name, 2)::int % 2 = 0 AND deleted_at IS NULL`)
}

// unmatchedOf counts the subscriptions that an event is still to be matched with.
func (d *database) unmatchedOf(r event.Receipt) int {
	d.t.Helper()
	return value[int](d, `
SELECT coalesce(sum(upper(part) - lower(part)), 0)
  FROM delivery_unmatched AS u CROSS JOIN LATERAL unnest(u.subscriptions) AS part WHERE u.event_id = $1::uuid`, r.ID)
}

// finishMatching processes pages until none is left, and returns their number.
func (d *database) finishMatching() (pages int) {
	d.t.Helper()
	for {
		more, err := d.Subscriptions.FinishMatching(d.t.Context())
		require.NoError(d.t, err)
		if !more {
			return pages
		}
		pages++
	}
}

// An event evaluates filters only for a while in its own transaction:
//   - subscriptions without such a filter have their delivery at once
//   - the others have theirs in pages, by any number of processes, also if one dies between two pages or within one
//   - a subscription that already has a delivery gets no second one
func TestFiltersThatTakeTooLongAreLeftToPages(t *testing.T) {
	t.Parallel()
	for _, lane := range []string{"alone", "in a batch", "in two steps", "with new subscriptions"} {
		t.Run(lane, func(t *testing.T) {
			t.Parallel()
			db := open(t)
			const n = 500
			db.many(n, everyOther)
			all := db.subscribe("all", delivery.Events{})
			indexed := db.subscribe("indexed", delivery.Events{Filter: `.body.id == "evt_1" and (.body.id | length) == 5`})
			want := append(db.wantingEvents(), all.ID, indexed.ID)
			if lane != "with new subscriptions" {
				require.NoError(t, db.Subscriptions.Refresh(t.Context()))
			}
			db.Subscriptions.Budget = someFilters(100)
			r := receipt()
			switch lane {
			case "in a batch":
				db.bulk(r)
				require.Equal(t, event.OutcomeProcessed, outcomes(db.batch(newBatchRun(), nil))[r.ID])
			case "in two steps":
				require.NoError(t, second(db.Writer.Write(t.Context(), event.RowOnly, r, body, parsed(), runOf(r))))
				require.Zero(t, db.unmatchedOf(r))
				require.NoError(t, db.UpsertEntities(t.Context(), r, parsed(), runOf(r)))
			default:
				db.mustProcess(r, parsed())
			}
			require.Equal(t, n-99, db.unmatchedOf(r), "one of the 100 evaluated filters is that of the indexed subscription")
			require.Subset(t, db.queued(r), []int64{all.ID, indexed.ID})
			require.Len(t, db.queued(r), 49+2)

			ended := db.wantingEvents()[200]
			db.exec(`
INSERT INTO deliveries (event_id, subscription_id, destination_id, status, code, attempts, generation, ms, queued_at)
VALUES ($1::uuid, $2, 1, 'delivered', '200', 1, 0, 0, now())`, r.ID, ended)

			more, err := db.Subscriptions.FinishMatching(t.Context())
			require.NoError(t, err)
			require.True(t, more)
			require.Equal(t, n-199, db.unmatchedOf(r))
			dying, die := context.WithCancel(t.Context())
			db.Subscriptions.Budget = func(time.Duration) func() bool { return func() bool { die(); return false } }
			require.Error(t, second(db.Subscriptions.FinishMatching(dying)))
			db.Close()
			other := db.another()
			other.Subscriptions.Budget = someFilters(150)
			require.Equal(t, n-199, other.unmatchedOf(r), "the page that failed has left everything")
			require.Equal(t, 3, other.finishMatching())
			require.Equal(t, 0, value[int](other, `SELECT count(*) FROM delivery_unmatched`))
			want = append(want[:200:200], want[201:]...)
			require.Equal(t, want, other.queued(r))
		})
	}
}

// Subscriptions change between the transaction of an event and the page that matches it with them, in another process.
func TestASubscriptionThatChangesBeforeItIsMatched(t *testing.T) {
	t.Parallel()
	db := open(t)
	db.subscribe("first", delivery.Events{Types: []string{"never"}})
	filter := func(n int, matches bool) delivery.Events {
		return delivery.Events{Filter: fmt.Sprintf(`(.body.id | startswith("evt_1")) == %t and %d > 0`, matches, n)}
	}
	db.subscribe("evaluated", filter(1, true))
	same, narrowed, widened := db.subscribe("same", filter(2, true)), db.subscribe("narrowed", filter(3, true)), db.subscribe("widened", filter(4, false))
	deactivated, activated := db.subscribe("deactivated", filter(5, true)), db.subscribe("activated", filter(6, true))
	db.subscribe("deleted", filter(7, true))
	unfiltered, indexed := db.subscribe("unfiltered", filter(8, false)), db.subscribe("indexed", filter(9, false))
	activated.Active = false
	activated = db.apply(activated)
	broken := db.subscribe("broken", delivery.Events{Filter: `.body.id | tonumber > 1`})
	db.Subscriptions.Budget = someFilters(1)
	r := receipt()
	db.mustProcess(r, parsed())
	require.Len(t, db.queued(r), 1)
	require.Equal(t, 8, db.unmatchedOf(r))

	other := db.another()
	narrowed.Events, widened.Events = filter(3, false), filter(4, true)
	unfiltered.Events, indexed.Events = delivery.Events{}, delivery.Events{Filter: `.body.id == "evt_1"`}
	deactivated.Active, activated.Active = false, true
	for _, changed := range []delivery.Subscription{narrowed, widened, deactivated, activated, unfiltered, indexed} {
		other.apply(changed)
	}
	require.NoError(t, second(other.Subscriptions.DeleteSubscription(t.Context(), "deleted", ada)))
	other.subscribe("new", filter(10, true))
	db.finishMatching()
	evaluated, err := db.Subscriptions.Subscription(t.Context(), "evaluated")
	require.NoError(t, err)
	require.Equal(t, []int64{evaluated.ID, same.ID, widened.ID, unfiltered.ID, indexed.ID}, db.queued(r))
	require.Equal(t, "failed filter_error", value[string](db, `
SELECT status || ' ' || code FROM deliveries WHERE event_id = $1::uuid AND subscription_id = $2`, r.ID, broken.ID))
}

// An event that is still to be matched isn't purged; if it is expunged, nothing is left of it.
func TestAnEventThatIsStillToBeMatched(t *testing.T) {
	t.Parallel()
	db := open(t)
	db.many(20, everyOther)
	db.Subscriptions.Budget = someFilters(5)
	old := receiptAt(noon.Add(-1000 * time.Hour))
	db.mustProcess(old, parsed())
	db.exec(`DELETE FROM delivery_queue`)
	db.ended()
	require.NotZero(t, db.unmatchedOf(old))
	require.Zero(t, db.purge(retention.Events, noon))
	db.finishMatching()
	db.exec(`DELETE FROM delivery_queue`)
	require.EqualValues(t, 1, db.purge(retention.Events, noon))
}

// The filters that the doctor measures are those of an event that was processed.
func TestTheSlowestFilters(t *testing.T) {
	t.Parallel()
	db := open(t)
	db.many(20, everyOther)
	_, _, found, err := db.Subscriptions.SlowestFilters(t.Context())
	require.NoError(t, err)
	require.False(t, found)
	r := receipt()
	db.mustProcess(r, parsed())
	m, took, found, err := db.Subscriptions.SlowestFilters(t.Context())
	require.NoError(t, err)
	require.True(t, found)
	require.Equal(t, r.ID, m.Receipt.ID)
	require.Empty(t, m.Body)
	require.Positive(t, took)
}

// Equal filters are evaluated once, so that 10,000 of them leave nothing to pages.
func TestEqualFiltersAreEvaluatedOnce(t *testing.T) {
	t.Parallel()
	db := open(t)
	db.many(1000, `.body.id | startswith("evt_1")`)
	require.NoError(t, db.Subscriptions.Refresh(t.Context()))
	evaluated := 0
	routed, err := db.Subscriptions.Route(t.Context(), subscriptions.Event{Receipt: receipt(), Type: "thing.changed", Body: body}, func() bool {
		evaluated++
		return false
	})
	require.NoError(t, err)
	require.False(t, routed.IsEmpty())
	require.Zero(t, evaluated, "after the first filter, no other one is evaluated")
}
