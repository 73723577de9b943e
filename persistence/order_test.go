package persistence_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast/delivery"
	"holdfast/event"
	"holdfast/persistence/outbox"
)

func orderOf(db *database, eventID string) (keys []string) {
	db.t.Helper()
	rows, err := db.sql.Query(db.t.Context(), `
SELECT s.name || ' ' || coalesce(q.order_key, 'none') || ' ' || coalesce(q.order_state, 'none') || ' ' || (q.lease IS NOT NULL)::text
  FROM delivery_queue AS q JOIN subscriptions AS s ON s.id = q.subscription_id WHERE event_id = $1 ORDER BY s.name`, eventID)
	require.NoError(db.t, err)
	defer rows.Close()
	for rows.Next() {
		var text string
		require.NoError(db.t, rows.Scan(&text))
		keys = append(keys, text)
	}
	require.NoError(db.t, rows.Err())
	return keys
}

// An ordered delivery waits for the sorter: it is neither leased when it is inserted, nor fanned out later. One without a key is
// like any other.
func TestOrderedDeliveriesAreQueuedWithTheirEvent(t *testing.T) {
	t.Parallel()
	db, d, s := deliverTo(t, same)
	s.OrderBy = ".event.type"
	s, err := db.Subscriptions.ApplySubscription(t.Context(), s, ada)
	require.NoError(t, err)
	r, p := receipt(), parsed()
	db.mustProcess(r, p)
	require.Empty(t, d.take(t))
	key := outbox.StoredOrderKey(s.ID, p.Type)
	require.Equal(t, []string{"d1 " + key + " new false"}, orderOf(db, r.ID))

	db.exec(`INSERT INTO subscriptions (name, destination_id, settings, active, version)
SELECT 'many' || n, $1, '{}', true, (SELECT version FROM subscriptions_head) FROM generate_series(1, 400) AS n`, s.DestinationID)
	db.exec(`UPDATE subscriptions_head SET version = version + 1`)
	db.exec(`UPDATE subscriptions SET version = (SELECT version FROM subscriptions_head)`)
	many := receipt()
	db.mustProcess(many, p)
	require.Equal(t, []string{"d1 " + key + " new false"}, orderOf(db, many.ID))
	require.Equal(t, 400, value[int](db, `SELECT cardinality(subscription_ids) FROM delivery_fanouts`))
}

func TestADeliveryWithoutAKeyIsNotOrdered(t *testing.T) {
	t.Parallel()
	db, d, s := deliverTo(t, same)
	s.OrderBy = ".body.nothing"
	_, err := db.Subscriptions.ApplySubscription(t.Context(), s, ada)
	require.NoError(t, err)
	db.mustProcess(receipt(), parsed())
	require.Len(t, d.take(t), 1)
}

// A delivery whose key is unknown isn't sent. Once the expression is corrected, a replay sends it in order.
func TestAFailedOrderIsADeadLetter(t *testing.T) {
	t.Parallel()
	db, d, s := deliverTo(t, same)
	apply := func(by delivery.JQ) {
		s.OrderBy, s.Version = by, 0
		_, err := db.Subscriptions.ApplySubscription(t.Context(), s, ada)
		require.NoError(t, err)
	}
	apply(`error("no")`)
	r, p := receipt(), parsed()
	db.mustProcess(r, p)
	require.Empty(t, d.take(t))
	require.Equal(t, "order_by_error the order_by of the subscription could not be evaluated",
		value[string](db, `SELECT error_code || ' ' || error_message FROM dead_letters WHERE subscription_id = $1`, s.ID))
	k := delivery.Key{EventID: r.ID, SubscriptionID: s.ID}
	_, err := db.Outbox.Resend(t.Context(), k, ada)
	var refused *event.Error
	require.ErrorAs(t, err, &refused)
	require.Equal(t, delivery.CodeOrderByError, refused.Code)

	apply(".event.type")
	_, err = db.Outbox.Resend(t.Context(), k, ada)
	require.NoError(t, err)
	require.Equal(t, []string{"d1 " + outbox.StoredOrderKey(s.ID, p.Type) + " new false"}, orderOf(db, r.ID))
}
