package outbox

import (
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast/delivery"
)

func TestALeaseLooksAtAsManyDestinationsAsFillIt(t *testing.T) {
	t.Parallel()
	var d depth
	require.Equal(t, 100, d.destinations(100), "nothing is known")
	require.Equal(t, maxDestinations, d.destinations(1000))
	deep := make([]delivery.Job, 60)
	for i := range deep {
		deep[i].DestinationID = int64(i % 6)
	}
	d.learn(deep)
	require.Equal(t, 20, d.destinations(100))
	d.learn(deep[:1])
	require.Equal(t, 100, d.destinations(100))
	d.learn(nil)
	require.Equal(t, 100, d.destinations(100))
	for i := range deep {
		deep[i].DestinationID = 1
	}
	d.learn(deep)
	require.Equal(t, fewDestinations, d.destinations(100))
	require.Equal(t, 2, d.destinations(2))
}
