package e2e

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"

	"holdfast/event"
	"holdfast/internal/devstack/stacktest"
	"holdfast/migrations"
	"holdfast/persistence"
)

const inboxRows = "SELECT count(*) FROM inbox"

// aloneWithTemporal returns an installation whose Temporal a test can stop.
func aloneWithTemporal(t *testing.T) (*installation, *stacktest.Temporal) {
	t.Helper()
	alone := stacktest.NewTemporal(t, stacktest.TemporalOptions{Durable: true})
	i := &installation{database: cluster.Database(t), namespace: alone.Namespace(), server: alone, env: impatience}
	out, err := i.run(t, "migrate")
	require.NoError(t, err, out)
	return i, alone
}

func someEvent() (body []byte) {
	return customerUpdated(uniqueID("evt"), uniqueID("cus"), "Ada", time.Now())
}

// awaitDrained waits until every acknowledged event is processed, once.
func (i *installation) awaitDrained(t *testing.T, events int) {
	t.Helper()
	i.awaitCount(t, 2*time.Minute, events, processedEvents)
	i.awaitCount(t, time.Minute, 0, inboxRows)
	require.Equal(t, events, i.count(t, "SELECT count(*) FROM events"))
	require.Zero(t, i.count(t, "SELECT count(*) FROM dead_letters"))
}

// Temporal is down:
//   - events are still accepted, and the process stays ready
//   - a redelivery is a duplicate in the inbox
//   - operators see what is waiting
//   - a process that is started meanwhile serves, too
//   - once Temporal is back, every event is processed once and the inbox is empty
func TestTemporalIsAway(t *testing.T) {
	t.Parallel()
	i, alone := aloneWithTemporal(t)
	n := i.start(t, "serve")
	require.NoError(t, alone.Stop())

	first := someEvent()
	a := n.send(t, first)
	require.Equal(t, 202, a.status, string(a.body))
	require.Equal(t, "spooled", a.state())
	again := n.send(t, first)
	require.Equal(t, 200, again.status, string(again.body))
	require.Equal(t, "processing", again.state())
	for range 100 {
		require.Equal(t, "spooled", n.send(t, someEvent()).state())
	}
	require.Equal(t, 101, i.count(t, inboxRows))
	n.awaitReady(t)
	require.Contains(t, n.metrics(t), `holdfast_events_spooled_total{provider="stripe",reason="down"}`)
	out, err := i.run(t, "inbox", "list", "--limit", "3")
	require.NoError(t, err, out)
	require.Contains(t, out, "stripe:evt_")
	out, err = i.run(t, "event", "show", a.Events[0].EventID)
	require.NoError(t, err, out)
	require.Contains(t, out, "in the inbox")

	late := i.start(t, "serve")
	require.Equal(t, "spooled", late.send(t, someEvent()).state())

	require.NoError(t, alone.Start())
	i.awaitDrained(t, 102)
	eventually(t, time.Minute, "events are started again", func() error {
		if state := n.send(t, someEvent()).state(); state != "accepted" {
			return errors.New(state)
		}
		return nil
	})
	eventually(t, time.Minute, "the first event is known to be processed", func() error {
		if state := n.send(t, first).state(); state != "processed" {
			return errors.New(state)
		}
		return nil
	})
	i.awaitCount(t, time.Minute, 0, inboxRows)
}

// Temporal confirms a start after its event was committed to the inbox: the event is removed again, and no drain starts it
// twice.
func TestTemporalConfirmsLate(t *testing.T) {
	t.Parallel()
	i, alone := aloneWithTemporal(t)
	n := i.start(t, "serve",
		"HOLDFAST_INGRESS_ACK_BUDGET=2s", "HOLDFAST_INGRESS_START_TIMEOUT=9s", "HOLDFAST_INGRESS_HANDLER_BUDGET=10s")
	require.Equal(t, "accepted", n.send(t, someEvent()).state())
	require.NoError(t, alone.Freeze())
	require.Equal(t, "spooled", n.send(t, someEvent()).state())
	require.Equal(t, 1, i.count(t, inboxRows))
	require.NoError(t, alone.Thaw())
	i.awaitDrained(t, 2)
	eventually(t, time.Minute, "it is counted", func() error {
		if !strings.Contains(n.metrics(t), `holdfast_inbox_drained_total{provider="stripe",result="confirmed"} 1`) {
			return errors.New("not yet")
		}
		return nil
	})
	require.NotContains(t, n.metrics(t), `result="duplicate"`)
}

// Both stores are down:
//   - the answer is 503 with Retry-After, and soon comes without waiting
//   - a process that is started meanwhile answers the same
//   - whichever store is back first makes events accepted
func TestBothStoresAreAway(t *testing.T) {
	t.Parallel()
	postgres := stacktest.NewCluster(t)
	require.NoError(t, postgres.Template(func(url string) error { return migrations.Up(context.Background(), url) }))
	i, alone := aloneWithTemporal(t)
	i.database = postgres.Database(t)
	n := i.start(t, "serve")
	require.NoError(t, alone.Stop())
	require.NoError(t, postgres.Stop())

	eventually(t, time.Minute, "the answer comes at once", func() error {
		begin := time.Now()
		a := n.send(t, someEvent())
		require.Equal(t, 503, a.status, string(a.body))
		require.Equal(t, "unavailable", a.Error.Code)
		require.NotEmpty(t, a.header.Get("Retry-After"))
		if took := time.Since(begin); took > 200*time.Millisecond {
			return fmt.Errorf("it took %s", took)
		}
		return nil
	})
	late := i.launch(t, "ingress")
	eventually(t, time.Minute, "the new process answers", func() error {
		a, err := late.post("/webhooks/stripe", nil)
		if err == nil && a.status != 401 {
			err = fmt.Errorf("with %d", a.status)
		}
		return err
	})
	require.Equal(t, 503, late.send(t, someEvent()).status)

	require.NoError(t, postgres.Start())
	accepted := 0
	for _, each := range []*node{n, late} {
		eventually(t, time.Minute, "the inbox takes events", func() error {
			a := each.send(t, someEvent())
			if a.status != 202 {
				return fmt.Errorf("%d", a.status)
			}
			accepted++
			return nil
		})
	}
	require.NoError(t, alone.Start())
	eventually(t, 2*time.Minute, "what was accepted is processed", func() error {
		return atLeast(i.count(t, processedEvents), accepted)
	})
	i.awaitCount(t, time.Minute, 0, inboxRows)
}

// Only PostgreSQL is down, from the start: events go through Temporal, and are processed once it is up.
func TestPostgresIsAwayAtTheStart(t *testing.T) {
	t.Parallel()
	alone := stacktest.NewCluster(t)
	require.NoError(t, alone.Template(func(url string) error { return migrations.Up(context.Background(), url) }))
	i := installationOn(t, alone.Database(t))
	out, err := i.run(t, "migrate")
	require.NoError(t, err, out)
	require.NoError(t, alone.Stop())
	n := i.start(t, "serve")
	for range 5 {
		require.Equal(t, "accepted", n.send(t, someEvent()).state())
	}
	require.NoError(t, alone.Start())
	i.awaitDrained(t, 5)
}

// Without a database there is no inbox: a request is answered with 503 while Temporal is down.
func TestTemporalIsAwayAndThereIsNoInbox(t *testing.T) {
	t.Parallel()
	alone := stacktest.NewTemporal(t, stacktest.TemporalOptions{Durable: true})
	i := &installation{env: append([]string{"TEMPORAL_ADDRESS=" + alone.Address(), "TEMPORAL_NAMESPACE=default"}, impatience...)}
	n := i.launch(t, "ingress", "DATABASE_URL=")
	eventually(t, time.Minute, "it serves", func() error { _, err := n.post("/webhooks/stripe", nil); return err })
	require.NoError(t, alone.Stop())
	a := n.send(t, someEvent())
	require.Equal(t, 503, a.status, string(a.body))
	require.NotEmpty(t, a.header.Get("Retry-After"))
}

// spool inserts an event into the inbox, like an ingress that died afterwards.
func (i *installation) spool(t *testing.T, r event.Receipt, body []byte) {
	t.Helper()
	store, err := persistence.Open(t.Context(), persistence.Config{URL: i.database})
	require.NoError(t, err)
	defer store.Close()
	stored, err := store.Inbox.NewInboxWriter().Spool(t.Context(), event.LaneOverflow, r, body, false)
	require.NoError(t, err)
	require.True(t, stored)
}

// waitingReceipt returns the receipt of an event in the inbox.
func waitingReceipt(provider, id, key string) event.Receipt {
	return event.Receipt{
		ID: id, Provider: provider, Key: key, KeyFrom: event.KeyFromEvent, Type: "customer.updated",
		ReceivedAt: time.Now().UTC(), RequestID: "req_inbox",
	}
}

// An event is still in the inbox although its start had succeeded and its run has failed: that isn't a redelivery, and it isn't
// run again. A redelivery is.
func TestTheInboxKnowsItsOwnStart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "homemade.yaml"), []byte(definitionOf("json")), 0o644))
	i := newInstallation(t, "HOLDFAST_PROVIDERS_DIR="+dir)
	n := i.start(t, "serve")
	key := uniqueID("msg")
	a := n.sendStandard(t, "/webhooks/homemade", key, []byte(poison))
	require.Equal(t, 202, a.status, string(a.body))
	i.awaitStatus(t, "homemade:"+key, enumspb.WORKFLOW_EXECUTION_STATUS_FAILED)
	first := i.describe(t, "homemade:"+key).GetExecution().GetRunId()

	i.spool(t, waitingReceipt("homemade", a.Events[0].EventID, key), []byte(poison))
	i.awaitCount(t, time.Minute, 0, inboxRows)
	require.Equal(t, first, i.describe(t, "homemade:"+key).GetExecution().GetRunId())
	require.Equal(t, 1, i.count(t, "SELECT failures FROM dead_letters"))

	again := uuid.Must(uuid.NewV7()).String()
	i.spool(t, waitingReceipt("homemade", again, key), []byte(poison))
	i.awaitCount(t, time.Minute, 0, inboxRows)
	i.awaitCount(t, time.Minute, 2, "SELECT failures FROM dead_letters")
	require.Zero(t, i.count(t, "SELECT count(*) FROM dead_letters WHERE event_id = $1", again), "it ran under its first ID")
}

// An event in the inbox that Temporal refuses permanently, because it exceeds the limit of a payload or a message, becomes a dead
// letter with its bytes, as long as Temporal accepts other events.
func TestTheInboxMakesADeadLetterOfARefusedEvent(t *testing.T) {
	t.Parallel()
	i := newInstallation(t)
	n := i.start(t, "serve")
	eventually(t, time.Minute, "Temporal takes events", func() error {
		if state := n.send(t, someEvent()).state(); state != "accepted" {
			return errors.New(state)
		}
		return nil
	})
	payload, message := make([]byte, 3<<20), make([]byte, 4<<20-100)
	for _, body := range [][]byte{payload, message} {
		copy(body, "{")
		i.spool(t, waitingReceipt("stripe", uuid.Must(uuid.NewV7()).String(), uniqueID("evt")), body)
	}
	eventually(t, 2*time.Minute, "both are dead, since Temporal takes others", func() error {
		accepted(t, func() answer { return n.send(t, someEvent()) })
		i.exec(t, "UPDATE inbox SET due_at = now()") // the pauses between eight attempts add up to a minute
		return atLeast(i.count(t, openDeadLetters), 2)
	})
	i.awaitCount(t, time.Minute, 0, inboxRows)
	for _, body := range [][]byte{payload, message} {
		require.Equal(t, 1, i.count(t, "SELECT count(*) FROM dead_letters WHERE error_code = 'not_startable'"+
			" AND error_class = 'rejected' AND raw_body = $1", body))
	}
	out, err := i.run(t, "dlq", "list")
	require.NoError(t, err, out)
	require.Contains(t, out, "not_startable")
}

func (n *node) sendGoCardless(t *testing.T, body []byte) answer {
	t.Helper()
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write(body)
	a, err := n.post("/webhooks/gocardless", body, "Webhook-Signature", hex.EncodeToString(mac.Sum(nil)))
	require.NoError(t, err)
	return a
}

// A batch with more events than can be started in time is accepted: every event is started or spooled.
func TestALargeBatchIsAccepted(t *testing.T) {
	t.Parallel()
	const events = 5000
	i := newInstallation(t, append(impatience, "GOCARDLESS_WEBHOOK_SECRET="+secret, "HOLDFAST_INGRESS_BODY_LIMIT=1MiB")...)
	n := i.start(t, "ingress")
	var items []string
	for range events {
		items = append(items, fmt.Sprintf(`{"id":%q,"resource_type":"payments","action":"paid_out"}`, uniqueID("EV")))
	}
	body := []byte(`{"events":[` + strings.Join(items, ",") + `]}`)
	a := n.sendGoCardless(t, body)
	require.Less(t, a.status, 300, string(a.body[:min(len(a.body), 500)]))
	require.Equal(t, events, a.Counts.Accepted)
	states := map[string]int{}
	for _, e := range a.Events {
		states[e.Status]++
	}
	require.Equal(t, events, states["accepted"]+states["spooled"], states)
	require.Positive(t, states["spooled"])
	t.Log(states)
}
