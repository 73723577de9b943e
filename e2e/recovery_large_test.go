package e2e

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"

	"holdfast/event"
	"holdfast/internal/devstack/fakeapi"
)

// Two events that never arrived are too large for Temporal, and more than one page of bodies together:
//   - they are recovered, with their bytes, and the inbox keeps no copy
//   - a second recovery finds nothing
func TestLargeEventsThatNeverArrivedAreRecovered(t *testing.T) {
	t.Parallel()
	fake := fakeapi.New(fakeapi.Styles()["stripe"])
	i := newShop(t, fake, unscheduled)
	door := i.start(t, "ingress")
	i.start(t, "worker")
	time.Sleep(time.Second) // the provider's times are whole seconds, and recovery was switched on when the worker started
	for _, id := range []string{"evt_large_1", "evt_large_2"} {
		fake.Add(fakeapi.Event{
			ID: id, Type: "customer.updated", Time: time.Now(), Object: id + "_cus", Text: strings.Repeat("x", event.MaxInline+1<<20),
		})
	}
	small := fakeapi.Event{ID: "evt_small", Type: "customer.updated", Time: time.Now()}
	fake.Add(small)
	body := customerUpdated(small.ID, "cus_1", "Ada", small.Time)
	door.deliver(t, 202, "/webhooks/shop", string(body), "Stripe-Signature", sign(body, secret, time.Now()))
	i.awaitCount(t, time.Minute, 1, processedEvents)
	time.Sleep(2 * time.Second) // until the events have settled

	r := i.recovers(t)
	require.Equal(t, []int64{2, 2, 0}, []int64{r.Missed, r.Recovered, r.Failed}, "%+v", r)
	i.awaitCount(t, time.Minute, 3, processedEvents)
	i.awaitStatus(t, "shop:evt_large_2", enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED)
	var stored string
	i.query(t, `SELECT convert_from(raw_body, 'UTF8') FROM events WHERE key = 'evt_large_1'`, nil, &stored)
	require.Contains(t, stored, strings.Repeat("x", event.MaxInline+1<<20))
	require.Equal(t, []int{3, 0, 0}, []int{
		i.count(t, "SELECT count(*) FROM entities"), i.count(t, "SELECT count(*) FROM inbox"), i.count(t, openDeadLetters),
	})
	again := i.recovers(t)
	require.Equal(t, []int64{3, 0}, []int64{again.Known, again.Missed})
}
