package persistence_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast/delivery"
	"holdfast/event"
	"holdfast/event/oversight"
	"holdfast/persistence"
)

// A thousand subscriptions are pruned with hardly more statements than ten: each has its audit entry, and loses its deliveries.
func TestAPruneNeedsFewStatements(t *testing.T) {
	t.Parallel()
	for _, n := range []int{10, 1000} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			count := &statementCount{}
			db := open(t, func(c *persistence.Config) { c.Tracer = count })
			ctx := t.Context()
			db.fillDestinations(n, 20)
			var subscriptions, destinations []string
			var ids []int64
			for i := 1; i <= n; i++ {
				subscriptions, destinations = append(subscriptions, fmt.Sprint("s", i)), append(destinations, fmt.Sprint("d", i))
				ids = append(ids, int64(i))
			}
			open, err := db.Outbox.CountOpen(ctx, ids)
			require.NoError(t, err)
			require.Len(t, open, min(n, 20))

			err = db.Subscriptions.DeleteDestinations(ctx, destinations, ada)
			require.Equal(t, "destination_in_use", event.CodeOf(err))
			count.n.Store(0)
			require.NoError(t, db.Subscriptions.DeleteSubscriptions(ctx, append(subscriptions, "unknown"), ada))
			require.NoError(t, db.Subscriptions.DeleteDestinations(ctx, append(destinations, "unknown"), ada))
			require.LessOrEqual(t, count.n.Load(), int64(60))

			left, err := db.Subscriptions.Subscriptions(ctx)
			require.NoError(t, err)
			require.Empty(t, left)
			all, err := db.Subscriptions.Destinations(ctx)
			require.NoError(t, err)
			require.Empty(t, all)
			require.EqualValues(t, 20, value[int64](db, `SELECT count(*) FROM deliveries WHERE status = 'canceled'`))
			for _, action := range []oversight.AuditAction{oversight.AuditSubscriptionDelete, oversight.AuditDestinationDelete} {
				require.EqualValues(t, n, value[int64](db, `SELECT count(DISTINCT object) FROM audit_log WHERE action = $1`, action))
			}
		})
	}
}

// A destination that is used is pruned only with its subscription, and its secrets go with it.
func TestAPruneOfAUsedDestination(t *testing.T) {
	t.Parallel()
	db := open(t)
	db.destination(1, delivery.Destination{})
	name := value[string](db, `SELECT name FROM destinations`)
	err := db.Subscriptions.DeleteDestinations(t.Context(), []string{name}, ada)
	require.ErrorContains(t, err, "subscriptions go to "+name)
	require.EqualValues(t, 0, value[int64](db, `SELECT count(*) FROM audit_log WHERE action = 'destination.delete'`))
}
