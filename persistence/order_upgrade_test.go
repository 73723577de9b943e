package persistence_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/delivery"
	"holdfast/migrations"
	"holdfast/persistence/persistencetest"
)

// undoOrder makes a database that migration 1016 hasn't changed yet.
const undoOrder = `
DROP TRIGGER delivery_queue_frees_key ON delivery_queue;
DROP FUNCTION free_order_key;
DROP TABLE delivery_order_freed;
ALTER TABLE delivery_queue DROP COLUMN order_key, DROP COLUMN order_state, DROP COLUMN order_xid, DROP COLUMN order_place,
      DROP COLUMN head_since;
DELETE FROM goose_db_version WHERE version_id = 1016`

// Deliveries that waited before there was an order, and those that are queued during the migration, are delivered. They stay
// without an order if their subscription gets one, and block none of its ordered ones.
func TestAFilledQueueIsUpgraded(t *testing.T) {
	t.Parallel()
	before := open(t)
	before.exec(undoOrder)
	const id = 7
	queue := before.shared()
	queue.Destination(id, delivery.Destination{HTTP: &delivery.HTTP{URL: "https://crm.example.com"}, InFlight: 100})
	want := queue.Queue(id, 20)

	migrated := make(chan error, 1)
	go func() { migrated <- migrations.Up(t.Context(), before.url) }()
	for isDone := false; !isDone; {
		want = append(want, queue.Queue(id, 1)...) // a process of the earlier release
		select {
		case err := <-migrated:
			require.NoError(t, err)
			isDone = true
		default:
		}
	}

	db := openURL(t, before.url)
	s, err := db.Subscriptions.Subscription(t.Context(), "s7")
	require.NoError(t, err)
	s.OrderBy = ".event.type"
	_, err = db.Subscriptions.ApplySubscription(t.Context(), s, ada)
	require.NoError(t, err)
	r := receipt()
	db.mustProcess(r, parsed())
	want = append(want, r.ID)
	require.Equal(t, want, deliverAll(t, db, id, len(want)))
	require.Zero(t, value[int](db, `SELECT count(*) FROM delivery_queue`))
}

// deliverAll delivers this many deliveries, within a minute, and returns their events in order.
func deliverAll(t *testing.T, db *database, destination int64, n int) (ids []string) {
	t.Helper()
	queue := db.shared()
	for end := time.Now().Add(time.Minute); len(ids) < n; {
		require.True(t, time.Now().Before(end), "%d of %d are delivered", len(ids), n)
		_, err := db.Outbox.SortOrdered(t.Context())
		require.NoError(t, err)
		jobs, _, err := db.Outbox.Lease(t.Context(), delivery.LeaseRequest{Limit: 10, Only: []int64{destination}})
		require.NoError(t, err)
		for _, j := range jobs {
			ids = append(ids, j.EventID)
		}
		queue.Settle(persistencetest.Each(jobs, delivery.OK, "200")...)
		require.NoError(t, db.Outbox.Rearm(t.Context()))
	}
	return ids
}

// A dump has a snapshot for as long as it takes, and writes nothing: it delays no ordered delivery.
func TestADumpDelaysNoOrderedDelivery(t *testing.T) {
	t.Parallel()
	db, _, s := deliverTo(t, same)
	s.OrderBy = ".event.type"
	s, err := db.Subscriptions.ApplySubscription(t.Context(), s, ada)
	require.NoError(t, err)
	dump := connect(t, db.url)
	_, err = dump.Exec(t.Context(), `BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SELECT count(*) FROM events`)
	require.NoError(t, err)
	r := receipt()
	db.mustProcess(r, parsed())
	require.Equal(t, []string{r.ID}, deliverAll(t, db, s.DestinationID, 1))
}
