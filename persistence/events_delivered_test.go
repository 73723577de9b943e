package persistence_test

import (
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast/event"
	"holdfast/persistence"
)

// A list of events by the status of their deliveries reads what it shows, however rare the status is, and searches a bounded
// number of deliveries for a page.
func TestEventsWithAFailedDeliveryAreFoundByTheirDeliveries(t *testing.T) {
	t.Parallel()
	seen := &statements{}
	db := openFilled(t, func(c *persistence.Config) { c.Tracer = seen })
	// Of 20,000 events the newest 8,000 have a canceled delivery, and 12 of the others have failed ones.
	db.exec(`
INSERT INTO deliveries (event_id, subscription_id, destination_id, status, code, attempts, generation, ms, queued_at)
SELECT lpad(to_hex(i), 32, '0')::uuid, n, 1,
       CASE WHEN i > 12000 THEN 'canceled' WHEN i % 1000 = 0 THEN 'failed' ELSE 'delivered' END, '', 1, 0, 1, now()
  FROM generate_series(1, 20000) AS i, generate_series(1, 2) AS n`)
	db.exec(`UPDATE events SET receipt = json_build_object('id', id)`)
	db.exec(`ANALYZE`)
	search := func(q event.RecordQuery) event.FoundEvents {
		t.Helper()
		q.DeliveryStatus = "failed"
		seen.forget()
		found, err := db.Read.SearchEvents(t.Context(), q)
		require.NoError(t, err)
		return found
	}
	idOf := func(i int64) string {
		return value[string](db, `SELECT lpad(to_hex($1::bigint), 32, '0')::uuid::text`, i)
	}

	found := search(event.RecordQuery{Limit: 10})
	require.Empty(t, found.Records)
	require.Equal(t, idOf(20_000-event.MaxSearchedDeliveries/2+1), found.SearchedTo, "no event is searched in part")
	found = search(event.RecordQuery{Limit: 10, Before: idOf(15_000)})
	require.Empty(t, found.Records)
	found = search(event.RecordQuery{Limit: 10, Before: found.SearchedTo})
	require.Len(t, found.Records, 10, "each event once")
	require.Equal(t, idOf(12_000), found.Records[0].Receipt.ID)
	require.Equal(t, idOf(3_000), found.SearchedTo)
	last := search(event.RecordQuery{Limit: 10, Before: found.SearchedTo})
	require.Len(t, last.Records, 2)
	require.Empty(t, last.SearchedTo, "all were searched")
	require.Len(t, search(event.RecordQuery{Limit: 10, Before: idOf(12_001), Type: "t0", Provider: "p0"}).Records, 1)
	require.Len(t, search(event.RecordQuery{Limit: 10, Key: "7000"}).Records, 1, "by its key, however many deliveries are newer")

	search(event.RecordQuery{Limit: 10, Before: idOf(12_001)})
	plan := seen.planOf(t, db, "EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF) ", func(sql string) bool {
		return strings.Contains(sql, "has_status")
	})
	for _, scan := range regexp.MustCompile(`Scan[^\n]*\(actual rows=(\d+) loops=(\d+)\)`).FindAllStringSubmatch(plan, -1) {
		rows, _ := strconv.Atoi(scan[1])
		loops, _ := strconv.Atoi(scan[2])
		require.LessOrEqual(t, rows*loops, 21, plan)
	}
	require.LessOrEqual(t, mostDropped(t, plan), 20, plan)
}
