package persistence_test

import (
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast/delivery"
	"holdfast/persistence"
	"holdfast/persistence/postgres"
)

// PostgreSQL analyzes the delivery queue while it is empty but has pages, as it is most of the time if everything is delivered.
// Then it assumes an empty queue however many deliveries have come since, and must still find each of them by its key.
func TestPlansSurviveAnAnalyzedEmptyQueue(t *testing.T) {
	t.Parallel()
	seen := &statements{}
	db := open(t, func(c *persistence.Config) { c.Tracer = seen })
	db.exec(`ALTER TABLE delivery_queue SET (autovacuum_enabled = off)`)
	db.destination(1, delivery.Destination{InFlight: 1000})
	db.destination(2, delivery.Destination{InFlight: 1000})
	db.queue(2, 2000)
	db.exec(`DELETE FROM delivery_queue`)
	db.exec(`ANALYZE delivery_queue`)
	require.True(t, value[bool](db, `SELECT reltuples = 0 AND relpages > 0 FROM pg_class WHERE oid = 'delivery_queue'::regclass`))
	db.queue(1, 4000)
	for _, c := range []struct {
		name, of string
		run      func() error
	}{
		{"lease", "WITH room AS", func() error {
			return second2(db.Outbox.Lease(t.Context(), delivery.LeaseRequest{Limit: 50}))
		}},
		{"settle first successes", "'delivered', code, 1, 0", func() error {
			return second(db.Outbox.Settle(t.Context(), each(db.lease(50, 50), delivery.OK, "200")))
		}},
		{"settle failures", "), late AS", func() error {
			return second(db.Outbox.Settle(t.Context(), each(db.lease(50, 50), delivery.Bad, "503")))
		}},
		{"cancel what waits", "discarded_by = $", func() error {
			db.queue(2, 600) // younger than those for the other destination
			return second(db.Outbox.CancelWaiting(t.Context(), delivery.Query{DestinationID: 2}, 500, ada))
		}},
		{"expire", "q.queued_at < k.before", func() error { return second(db.Outbox.ExpireDeliveries(t.Context())) }},
		{"cancel", "'canceled', 'deleted'", func() error {
			db.exec(`UPDATE subscriptions SET deleted_at = now()`)
			return second(db.Outbox.CancelDeleted(t.Context()))
		}},
	} {
		seen.forget()
		require.NoError(t, c.run(), c.name)
		db.exec(`SET plan_cache_mode = force_generic_plan`)
		db.exec(`BEGIN`)
		db.exec(`SELECT ` + postgres.SettingsOfPlans)
		plan := seen.planOf(t, db, "EXPLAIN (ANALYZE, TIMING OFF, COSTS OFF) ",
			func(sql string) bool { return strings.Contains(sql, c.of) })
		db.exec(`ROLLBACK`)
		if n := max(mostRead(t, plan), mostDropped(t, plan)); n > 500 {
			t.Errorf("%s reads %d of 4000 rows for 50 deliveries, or 500 in a sweep\n%s", c.name, n, plan)
		}
	}
}

var scanOfQueue = regexp.MustCompile(`Scan[^\n]* on delivery_queue[^\n]*\(actual rows=(\d+)\S* loops=(\d+)\)`)

var droppedByFilter = regexp.MustCompile(`Rows Removed by Filter: (\d+)`)

// mostDropped returns how many rows a scan has read and discarded.
func mostDropped(t *testing.T, plan string) (most int) {
	t.Helper()
	for _, found := range droppedByFilter.FindAllStringSubmatch(plan, -1) {
		rows, err := strconv.Atoi(found[1])
		require.NoError(t, err)
		most = max(most, rows)
	}
	return most
}

// mostRead returns how many rows the largest scan of the queue returns.
func mostRead(t *testing.T, plan string) (most int) {
	t.Helper()
	scans := scanOfQueue.FindAllStringSubmatch(plan, -1)
	require.NotEmpty(t, scans, plan)
	for _, scan := range scans {
		rows, err := strconv.Atoi(scan[1])
		require.NoError(t, err)
		loops, err := strconv.Atoi(scan[2])
		require.NoError(t, err)
		most = max(most, rows*loops)
	}
	return most
}

// An outcome that waits for a row which another transaction changes, and so moves, is recorded all the same: otherwise the
// delivery would be sent a second time once its lease ends.
func TestAnOutcomeIsRecordedThoughItsRowMoves(t *testing.T) {
	t.Parallel()
	for name, outcomes := range map[string]struct {
		kind delivery.Kind
		open int
	}{
		"delivered": {delivery.OK, 0},
		"retried":   {delivery.Bad, 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := open(t)
			db.destination(1, delivery.Destination{})
			db.queue(1, 3)
			jobs := db.lease(10, 10)
			other := connect(t, db.url)
			exec := func(sql string, args ...any) { require.NoError(t, second(other.Exec(t.Context(), sql, args...))) }
			exec(`BEGIN`)
			exec(`UPDATE delivery_queue SET last_code = 'moved' WHERE event_id = $1`, jobs[1].EventID)
			settled := make(chan error, 1)
			go func() { settled <- second(db.Outbox.Settle(t.Context(), each(jobs, outcomes.kind, "x"))) }()
			db.onBlock(other)
			exec(`COMMIT`)
			require.NoError(t, <-settled)
			require.Equal(t, outcomes.open, db.open(1))
			require.Equal(t, 0, value[int](db, `SELECT count(*) FROM delivery_queue WHERE lease IS NOT NULL`))
			require.Equal(t, 3-outcomes.open, value[int](db, `SELECT count(*) FROM deliveries WHERE status = 'delivered'`))
		})
	}
}
