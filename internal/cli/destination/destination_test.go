package destination

import (
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast/delivery"
)

// Deliveries that are being retried count as waiting, also for a paused destination.
func TestRetriesWait(t *testing.T) {
	t.Parallel()
	require.Equal(t, "0 deliveries waiting", waits(delivery.Condition{}))
	require.Equal(t, "1 delivery waiting", waits(delivery.Condition{Retrying: 1}))
	require.Equal(t, "412 deliveries waiting", waits(delivery.Condition{Waiting: 400, Retrying: 12}))
	require.Equal(t, "at least 1000 deliveries waiting", waits(delivery.Condition{Waiting: 1000, AtLeast: true}))
}
