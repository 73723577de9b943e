package outbox_test

import (
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"holdfast/delivery"
	"holdfast/persistence/persistencetest"
)

// A delivery that ends and is sent again, over and over, is shown each time that it is read, once.
func TestADeliveryIsReadWhileItMoves(t *testing.T) {
	t.Parallel()
	db := persistencetest.Open(t)
	db.Destination(1, delivery.Destination{})
	db.Queue(1, 1)
	k := db.Lease(1, 1)[0].Key
	_, err := db.Outbox.CancelDelivery(t.Context(), k, persistencetest.Ada)
	require.NoError(t, err)

	var done atomic.Bool
	var g errgroup.Group
	g.Go(func() error {
		defer done.Store(true)
		for range 150 {
			if _, err := db.Outbox.Resend(t.Context(), k, persistencetest.Ada); err != nil {
				return err
			}
			if _, err := db.Outbox.CancelDelivery(t.Context(), k, persistencetest.Ada); err != nil {
				return err
			}
		}
		return nil
	})
	for range 2 {
		g.Go(func() error {
			for !done.Load() {
				if _, err := db.Outbox.Delivery(t.Context(), k); err != nil {
					return err
				}
				page, err := db.Outbox.Deliveries(t.Context(), delivery.Query{})
				if err != nil {
					return err
				}
				if len(page) != 1 {
					t.Errorf("the list has the delivery %d times", len(page))
				}
			}
			return nil
		})
	}
	require.NoError(t, g.Wait())
}
