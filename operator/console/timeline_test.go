package console

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/delivery"
	"holdfast/event"
	"holdfast/operator/api"
	"holdfast/operator/api/deliveryapi"
)

// An event that died, was replayed and is delivered a second time reads from top to bottom, and its page follows it until it ends.
func TestAnEventIsATimeline(t *testing.T) {
	t.Parallel()
	at := func(seconds int) time.Time { return time.Date(2026, 11, 29, 10, 0, seconds, 0, time.UTC) }
	p := func(seconds int) *time.Time { moment := at(seconds); return &moment }
	page := eventPage{EventDetail: api.EventDetail{
		EventView: api.EventView{Provider: "stripe", ReceivedAt: at(0), Status: event.StatusDead},
		DeadLetters: []api.DeadLetterView{{
			ID: 7, State: event.DeadLetterReplaying, FirstFailed: at(2), LastFailed: at(2), Failures: 1, Failure: event.Failure{Message: "no JSON"},
		}},
	}}
	require.True(t, page.IsReplaying())
	require.True(t, page.IsOpen())
	page.DeadLetters[0].State, page.DeadLetters[0].ResolvedAt = event.DeadLetterResolved, p(9)
	page.Status, page.PersistedAt, page.ProcessedAt = event.StatusProcessed, at(8), p(9)
	page.Deliveries = []deliveryapi.DeliveryView{{Delivery: delivery.Delivery{
		Subscription: "crm", Destination: "crm", Status: delivery.Retrying, Waits: "breaker", DueAt: p(30),
	}}}
	page.Attempted = []deliveryapi.AttemptView{{Attempt: delivery.Attempt{At: at(10), Subscription: "crm", Code: "500", Error: "it answered 500"}}}
	require.False(t, page.IsReplaying())
	require.True(t, page.IsOpen(), "a delivery is pending")
	var said []string
	for _, m := range page.Timeline() {
		said = append(said, page.After(m.At)+" "+m.What+": "+m.Detail)
	}
	require.Equal(t, []string{
		" Received: from stripe", "+2s Dead letter 7: no JSON", "+8s Stored: ", "+9s Processed: ", "+9s Dead letter 7 resolved: ",
		"+10s Attempt for crm failed: 500: it answered 500", "+30s Next attempt for crm: retrying, blocked: its breaker is open",
	}, said)
	page.Deliveries[0].DoneAt = p(31)
	require.False(t, page.IsOpen())
}
