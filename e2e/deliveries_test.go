package e2e

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"

	"holdfast/event/operation"
	"holdfast/workflows"
)

// endpoint is a customer's: it records the confirmed events, with the original ID of resent ones, and can be made to refuse.
type endpoint struct {
	*httptest.Server

	refuses atomic.Bool
	mu      sync.Mutex
	ids     map[string]int
}

func newEndpoint(t *testing.T) *endpoint {
	t.Helper()
	e := &endpoint{ids: map[string]int{}}
	e.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if e.refuses.Load() {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		e.mu.Lock()
		defer e.mu.Unlock()
		again := r.Header.Get("webhook-id")[len(uuid.Nil.String()):]
		e.ids[r.Header.Get("holdfast-event-id")+again]++
	}))
	t.Cleanup(e.Close)
	return e
}

func (e *endpoint) await(t *testing.T, id string) {
	t.Helper()
	eventually(t, time.Minute, "the endpoint has "+id, func() error {
		e.mu.Lock()
		defer e.mu.Unlock()
		if e.ids[id] == 0 {
			return fmt.Errorf("it has %v", e.ids)
		}
		return nil
	})
}

const subscribed = `
destinations:
  crm: {http: {url: %q, secrets: CRM_SECRET}, retry: {attempts: 2, initial: 100ms}}
  orders: {temporal: {task_queue: own}}
subscriptions:
  orders-to-crm: {events: {providers: [acme]}, to: crm}
  big-orders:
    events: {filter: .body.total > 100}
    to: orders
    start: {workflow_id: '"big-" + .event.id', type: BigOrder, input: [envelope]}
`

// From the command line, on real servers: an endpoint and a workflow get their events; a pause keeps them; a failed delivery is
// a dead letter that is replayed; a delivered event is resent under a new ID; and older events go to a late subscriber.
func TestDeliveriesAreOperated(t *testing.T) {
	t.Parallel()
	crm, late := newEndpoint(t), newEndpoint(t)
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "acme.yaml"), []byte(acme), 0o600))
	file := filepath.Join(t.TempDir(), "subscriptions.yaml")
	require.NoError(t, os.WriteFile(file, fmt.Appendf(nil, subscribed, crm.URL), 0o600))
	i := newInstallation(t, "HOLDFAST_PROVIDERS_DIR="+dir, "ACME_TOKEN=token-of-the-test",
		"CRM_SECRET=whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "HOLDFAST_DELIVERIES_ALLOWED_NETWORKS=127.0.0.0/8")
	n := i.start(t, "serve")
	run := func(args ...string) string {
		out, err := i.run(t, args...)
		require.NoError(t, err, "%s\n%s", strings.Join(args, " "), out)
		return out
	}
	send := func(total int) (eventID string) {
		key := uniqueID("a")
		a, err := n.post("/webhooks/acme", fmt.Appendf(nil, `{"id":%q,"type":"order.paid","order":"o1","total":%d}`, key, total),
			"X-Acme-Token", "token-of-the-test")
		require.NoError(t, err)
		require.Equal(t, 202, a.status)
		i.awaitCount(t, time.Minute, 1, "SELECT count(*) FROM events WHERE key = $1 AND status = 'processed'", key)
		i.query(t, "SELECT id::text FROM events WHERE key = $1", []any{key}, &eventID)
		return eventID
	}

	require.Contains(t, run("subscription", "apply", "-f", file, "--dry-run"), "4 to create")
	require.Zero(t, i.count(t, "SELECT count(*) FROM subscriptions"))
	run("subscription", "apply", "-f", file, "--reason", "INC-42")

	first := send(7)
	crm.await(t, first)
	big := send(700)
	crm.await(t, big)
	i.awaitStatus(t, "big-"+big, enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING)
	i.awaitCount(t, time.Minute, 3, "SELECT count(*) FROM deliveries WHERE status = 'delivered'")
	require.Contains(t, run("event", "show", big), "big-orders")

	run("destination", "pause", "crm", "--reason", "they deploy")
	kept := send(8)
	i.awaitCount(t, time.Minute, 1, "SELECT count(*) FROM delivery_queue")
	require.Contains(t, run("delivery", "list"), "paused")
	run("destination", "resume", "crm")
	crm.await(t, kept)

	crm.refuses.Store(true)
	refused := send(9)
	i.awaitCount(t, time.Minute, 1, "SELECT count(*) FROM dead_letters WHERE step = 'deliver' AND state = 'open'")
	require.Contains(t, run("event", "show", refused), "failed")
	require.Contains(t, run("dlq", "list", "--step", "deliver"), "500")
	crm.refuses.Store(false)
	var letter int
	i.query(t, "SELECT id FROM dead_letters WHERE event_id = $1", []any{refused}, &letter)
	run("dlq", "replay", fmt.Sprint(letter), "--wait")
	crm.await(t, refused+"-1")
	require.Equal(t, 1, i.count(t, "SELECT count(*) FROM dead_letters WHERE step = 'deliver' AND state = 'resolved'"))

	run("delivery", "resend", first, "orders-to-crm")
	crm.await(t, first+"-1")
	require.Contains(t, run("event", "attempts", refused), "500")

	run("subscription", "create", "latecomer", "--url", late.URL)
	run("resend", "start", "latecomer", "--since", "1h", "--yes")
	for _, id := range []string{first, big, kept, refused} {
		late.await(t, id)
	}
	var resend string
	i.query(t, "SELECT id FROM resends", nil, &resend)
	workflowID := workflows.OperationID(operation.KindResend, resend)
	i.awaitStatus(t, workflowID, enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED)
	i.replay(t, "resend_completed", workflowID)
	require.Equal(t, 3, i.count(t, `SELECT count(DISTINCT action) FROM audit_log
		WHERE action IN ('subscription.apply', 'destination.pause', 'delivery.resend')`))
}
