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

// A new endpoint can name a proxy; nothing else can.
func TestAProxyOfANewEndpoint(t *testing.T) {
	t.Parallel()
	_, to, err := (&createOptions{url: "https://crm.example.com", proxy: "office"}).declare("crm")
	require.NoError(t, err)
	require.Equal(t, "office", to.HTTP.Proxy)
	for _, o := range []createOptions{{to: "crm", proxy: "office"}, {queue: "orders", start: "Order", workflowID: ".id", proxy: "office"}} {
		_, _, err := o.declare("crm")
		require.ErrorContains(t, err, "--proxy")
	}
}
