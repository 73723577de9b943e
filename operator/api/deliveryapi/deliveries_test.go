package deliveryapi_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast/delivery"
	"holdfast/event"
	"holdfast/operator/api/deliveryapi"
)

func TestAnEventHasOneStatusForItsDeliveries(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		status event.Status
		all    []delivery.Delivery
		want   delivery.Status
	}{
		"matches nothing":       {event.StatusProcessed, nil, delivery.Delivered},
		"not processed yet":     {event.StatusPersisted, nil, delivery.Pending},
		"in the inbox":          {"waiting", nil, delivery.Pending},
		"never processed":       {event.StatusDead, nil, ""},
		"one failed, one waits": {event.StatusProcessed, []delivery.Delivery{{Status: "failed"}, {Status: "pending"}}, delivery.Pending},
		"canceled":              {event.StatusProcessed, []delivery.Delivery{{Status: "canceled"}}, delivery.Delivered},
	} {
		require.Equal(t, c.want, deliveryapi.StatusOf(c.status, c.all), name)
	}
}
