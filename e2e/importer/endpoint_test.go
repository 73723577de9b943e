package importer

import (
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// endpoint is a customer's: it counts the deliveries of each event.
type endpoint struct {
	*httptest.Server

	mu     sync.Mutex
	counts map[string]int // by the ID of the event
}

func newEndpoint(t *testing.T) *endpoint {
	t.Helper()
	e := &endpoint{counts: map[string]int{}}
	e.Server = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.counts[r.Header.Get("holdfast-event-id")]++
	}))
	t.Cleanup(e.Close)
	return e
}

// received returns its events with the number of deliveries.
func (e *endpoint) received() map[string]int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return maps.Clone(e.counts)
}

// subscribe creates or changes a subscription of an endpoint to all events of a provider, active or not.
func (i *installation) subscribe(t *testing.T, e *endpoint, provider string, isActive bool) {
	t.Helper()
	file := i.write(t, "subscriptions.yaml", fmt.Appendf(nil, `
destinations:
  crm: {http: {url: %q, secrets: CRM_SECRET}}
subscriptions:
  all: {events: {providers: [%s]}, to: crm, active: %t}
`, e.URL, provider, isActive))
	i.mustRun(t, "subscription", "apply", "-f", file)
}

// requireDelivered waits until every delivery has ended, and asserts that exactly these events were delivered, once each.
func (i *installation) requireDelivered(t *testing.T, e *endpoint, eventIDs ...string) {
	t.Helper()
	i.awaitCount(t, 0, "SELECT count(*) FROM delivery_queue")
	want := map[string]int{}
	for _, id := range eventIDs {
		want[id] = 1
	}
	require.Equal(t, want, e.received())
}
