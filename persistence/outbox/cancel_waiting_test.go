package outbox_test

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"holdfast/delivery"
	"holdfast/event/oversight"
	"holdfast/persistence/persistencetest"
)

// Pending deliveries are canceled by the filters of the list: no more than were counted, none in flight or to other destinations,
// each with its dead letter, and with an audit entry that counts them.
func TestPendingDeliveriesAreCanceledTogether(t *testing.T) {
	t.Parallel()
	d := persistencetest.Open(t)
	crm, erp := d.Destination(81, delivery.Destination{}), d.Destination(82, delivery.Destination{})
	d.Queue(crm, 1)
	require.Len(t, d.Lease(1, 1), 1)
	before := d.Queue(crm, 4)
	d.Queue(erp, 2)
	d.Exec(`UPDATE delivery_queue SET attempts = 1 WHERE event_id = $1::uuid`, before[0])
	until := uuidTime(t, before[3]).Add(time.Millisecond)
	count := func(q delivery.Query) (n int64) {
		t.Helper()
		n, err := d.Outbox.CountCancelable(t.Context(), q)
		require.NoError(t, err)
		return n
	}
	all := delivery.Query{DestinationID: crm, Until: until}
	require.EqualValues(t, 4, count(all), "one is under way")
	require.EqualValues(t, 1, count(delivery.Query{SubscriptionID: crm, Status: delivery.Retrying}))
	require.EqualValues(t, 1, count(delivery.Query{EventID: before[2]}))
	require.EqualValues(t, 0, count(delivery.Query{DestinationID: crm, Since: until}))

	by := oversight.Actor{Name: "ada", Role: "operator", Reason: "INC-42"}
	canceled, err := d.Outbox.CancelWaiting(t.Context(), all, 3, by)
	require.NoError(t, err)
	require.EqualValues(t, 3, canceled, "no more than were counted")
	require.EqualValues(t, 1, count(delivery.Query{EventID: before[3]}), "the oldest go first")
	one, err := d.Outbox.Delivery(t.Context(), delivery.Key{EventID: before[0], SubscriptionID: crm})
	require.NoError(t, err)
	require.Equal(t, delivery.Canceled, one.Status)

	canceled, err = d.Outbox.CancelWaiting(t.Context(), all, delivery.MaxCanceled, by)
	require.NoError(t, err)
	require.EqualValues(t, 1, canceled)
	require.EqualValues(t, 2, count(delivery.Query{DestinationID: erp}))
	entries, err := d.Audit.AuditLog(t.Context(), oversight.AuditQuery{Object: "destination:d81", Limit: 9})
	require.NoError(t, err)
	require.Len(t, entries, 2)
	require.Equal(t, oversight.AuditDeliveryCancel, entries[1].Action)
	require.JSONEq(t, `{"canceled":3}`, string(entries[1].Detail))
	require.Equal(t, "INC-42", entries[1].Reason)
}

func uuidTime(t *testing.T, id string) time.Time {
	t.Helper()
	sec, nsec := uuid.MustParse(id).Time().UnixTime()
	return time.Unix(sec, nsec)
}
