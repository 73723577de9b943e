package persistence_test

import (
	"context"
	"maps"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/delivery"
	"holdfast/event"
	"holdfast/persistence"
)

// A list's rows are counted by state, by an index, and no count reads more than event.MaxCounted rows: then it says "at least".
func TestListsAreCountedByState(t *testing.T) {
	t.Parallel()
	seen := &statements{}
	db := openFilled(t, func(c *persistence.Config) { c.Tracer = seen })
	fillDeliveries(db)
	db.exec(`UPDATE subscriptions SET destination_id = 4000 WHERE id = 100`)
	for _, table := range []string{"delivery_queue", "deliveries"} {
		db.exec(`UPDATE ` + table + ` AS q SET destination_id = s.destination_id FROM subscriptions AS s WHERE s.id = q.subscription_id`)
		db.exec(`VACUUM ANALYZE ` + table)
	}
	require.NoError(t, db.Ping(t.Context()))
	old, young := time.UnixMilli(0), time.Now()
	for name, c := range map[string]struct {
		run  func(context.Context, persistence.CountView) (event.Counts, error)
		want event.Counts
	}{
		"all events": {events(event.RecordQuery{Status: event.StatusDead}),
			event.Counts{"persisted": {}, "processed": {N: 1198, AtLeast: true}, "dead": {N: 40}}},
		"events of a provider": {events(event.RecordQuery{Provider: "p0"}),
			event.Counts{"persisted": {}, "processed": {N: 360}, "dead": {N: 40}}},
		"events of another provider": {events(event.RecordQuery{Provider: "p7"}),
			event.Counts{"persisted": {}, "processed": {N: 400}, "dead": {}}},
		"events of a type": {events(event.RecordQuery{Type: "t1"}), event.Counts{"persisted": {}, "dead": {N: 6}}},
		"events of a source": {events(event.RecordQuery{Provider: "p0", Source: "s5"}),
			event.Counts{"persisted": {}, "processed": {N: 22}, "dead": {N: 6}}},
		"events of a source and a type": {events(event.RecordQuery{Provider: "p0", Source: "s5", Type: "t5"}),
			event.Counts{"persisted": {}, "dead": {N: 6}}},
		"events of a time": {events(event.RecordQuery{Since: old.Add(time.Hour), Until: young}),
			event.Counts{"persisted": {}, "processed": {}, "dead": {}}},
		"events of a key": {events(event.RecordQuery{Provider: "p0", Key: "50"}), event.Counts{}},

		"all dead letters": {letters(event.DeadLetterQuery{State: event.DeadLetterOpen}), event.Counts{
			"open": {N: 200}, "replaying": {}, "exhausted": {}, "resolved": {N: 2001, AtLeast: true}, "discarded": {}}},
		"dead letters of a cause": {letters(event.DeadLetterQuery{Provider: "p0", Code: "c100", Step: event.StepParse}), event.Counts{
			"open": {N: 100}, "replaying": {}, "exhausted": {}, "resolved": {}, "discarded": {}}},
		"dead letters of a class": {letters(event.DeadLetterQuery{Class: event.ClassRejected}), event.Counts{
			"open": {}, "replaying": {}, "exhausted": {}, "resolved": {N: 15, AtLeast: true}, "discarded": {}}},
		"dead letters of a type": {letters(event.DeadLetterQuery{Type: "t100"}), event.Counts{
			"open": {N: 67}, "replaying": {}, "exhausted": {}, "resolved": {AtLeast: true}, "discarded": {}}},
		"dead letters of a time": {letters(event.DeadLetterQuery{Since: young.AddDate(0, 0, -3), Provider: "p0"}), event.Counts{
			"open": {N: 200}, "replaying": {}, "exhausted": {}, "resolved": {N: 200}, "discarded": {}}},

		"all deliveries": {deliveries(delivery.Query{Status: delivery.Failed}), event.Counts{
			"pending": {N: 1500, AtLeast: true}, "processing": {AtLeast: true}, "retrying": {AtLeast: true},
			"failed": {N: 200}, "canceled": {}, "delivered": {N: 1189, AtLeast: true}}},
		"deliveries of a subscription": {deliveries(delivery.Query{SubscriptionID: 100}), event.Counts{
			"pending": {N: 4}, "processing": {}, "retrying": {}, "failed": {N: 4}, "canceled": {}, "delivered": {}}},
		"deliveries of a destination": {deliveries(delivery.Query{DestinationID: 4000}), event.Counts{
			"pending": {N: 4}, "processing": {}, "retrying": {}, "failed": {N: 4}, "canceled": {}, "delivered": {}}},
		"deliveries of a destination with many subscriptions": {deliveries(delivery.Query{DestinationID: 1}), event.Counts{
			"pending": {N: 1500, AtLeast: true}, "processing": {AtLeast: true}, "retrying": {AtLeast: true},
			"failed": {N: 196}, "canceled": {}, "delivered": {N: 500, AtLeast: true}}},
		"deliveries of nobody": {deliveries(delivery.Query{SubscriptionID: 9999}), event.Counts{
			"pending": {}, "processing": {}, "retrying": {}, "failed": {}, "canceled": {}, "delivered": {}}},
	} {
		seen.forget()
		counts, err := c.run(t.Context(), db.CountView())
		require.NoError(t, err, name)
		if !maps.EqualFunc(c.want, counts, isCounted) {
			t.Errorf("%s: %v, want %v", name, counts, c.want)
		}
		for _, sent := range seen.sent {
			plan := seen.planOf(t, db, "EXPLAIN (ANALYZE, TIMING OFF, COSTS OFF) ", func(sql string) bool { return sql == sent.sql })
			plan = ofSubscriptions.ReplaceAllString(plan, "") // a destination's are all looked up
			if n := max(mostScanned(t, plan), mostDropped(t, plan)); n > event.MaxCounted+10 || wholeTable.MatchString(plan) {
				t.Errorf("%s reads %d rows for a count\n%s\n%s", name, n, sent.sql, plan)
			}
		}
	}
}

// isCounted compares an exact count, or the least that a stopped one has found.
func isCounted(want, got event.Count) bool {
	return want == got || want.AtLeast && got.AtLeast && want.N <= got.N
}

func events(q event.RecordQuery) func(context.Context, persistence.CountView) (event.Counts, error) {
	return func(ctx context.Context, v persistence.CountView) (event.Counts, error) { return v.EventCounts(ctx, q) }
}

func letters(q event.DeadLetterQuery) func(context.Context, persistence.CountView) (event.Counts, error) {
	return func(ctx context.Context, v persistence.CountView) (event.Counts, error) {
		return v.DeadLetterCounts(ctx, q)
	}
}

func deliveries(q delivery.Query) func(context.Context, persistence.CountView) (event.Counts, error) {
	return func(ctx context.Context, v persistence.CountView) (event.Counts, error) {
		return v.DeliveryCounts(ctx, q)
	}
}

// wholeTable matches a scan of a whole table that has rows.
var wholeTable = regexp.MustCompile(`Seq Scan on (events|dead_letters|delivery_queue|deliveries_before)`)

var ofSubscriptions = regexp.MustCompile(`Scan on subscriptions[^\n]*\n[^\n]*Filter:[^\n]*\n[^\n]*Rows Removed by Filter: \d+`)

var scanned = regexp.MustCompile(`Scan[^\n]* on (?:events|dead_letters|deliver)[^\n]*\(actual rows=(\d+)\S* loops=(\d+)\)`)

// mostScanned returns how many rows of a list the largest scan returns.
func mostScanned(t *testing.T, plan string) (most int) {
	t.Helper()
	for _, scan := range scanned.FindAllStringSubmatch(plan, -1) {
		rows, err := strconv.Atoi(scan[1])
		require.NoError(t, err)
		loops, err := strconv.Atoi(scan[2])
		require.NoError(t, err)
		most = max(most, rows*loops)
	}
	return most
}
