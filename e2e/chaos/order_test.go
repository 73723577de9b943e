package chaos

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/delivery"
	"holdfast/event/feed"
	"holdfast/internal/ledger/check"
	"holdfast/persistence"
)

// ordered is a subscription with order_by, whose endpoint records what it accepts, and fails for one key.
type ordered struct {
	*receiver

	start feed.Cursor

	mu       sync.Mutex
	failing  string   // a text that is only in bodies of the key that fails; "" if none does
	accepted []string // events, in order, each time
	again    map[string]bool
}

// orderedName is the name of the subscription and its destination.
const orderedName = "ordered"

// subscribeInOrder delivers in the order of each event type. A head that fails for about 10 s becomes a dead letter.
func (w *world) subscribeInOrder() {
	w.t.Helper()
	w.ordered = &ordered{receiver: newReceiver(w.t), again: map[string]bool{}}
	w.ordered.behaves(w.ordered.answer)
	w.inStore(func(ctx context.Context, s *persistence.Store) (err error) {
		w.ordered.start, err = s.Changes.Now(ctx)
		return err
	})
	w.subscribeAs(w.ordered.receiver, delivery.Subscription{Name: orderedName, OrderBy: ".event.type"}, 8)
}

// answer implements http.HandlerFunc.
func (o *ordered) answer(w http.ResponseWriter, request *http.Request) {
	body, err := io.ReadAll(request.Body)
	if err != nil {
		return
	}
	id := request.Header.Get("holdfast-event-id")
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.failing != "" && bytes.Contains(body, []byte(o.failing)) {
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	o.accepted = append(o.accepted, id)
	o.confirm(id, request.Header.Get("webhook-id"))
}

func (o *ordered) fails(text string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.failing = text
}

// sendAgain notes that an operator sends an event again, which then goes to the end of its key.
func (o *ordered) sendAgain(event string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.again[event] = true
}

// firsts returns the accepted events that no operator has sent again, each at its first acceptance.
func (o *ordered) firsts() (all []string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	seen := map[string]bool{}
	for _, id := range o.accepted {
		if !seen[id] && !o.again[id] {
			all = append(all, id)
		}
		seen[id] = true
	}
	return all
}

// orderedKeyFails kills the two workers in turn, while one key fails, operators send delivered events again, and dead letters of
// the failing key are replayed.
func orderedKeyFails(w *world) {
	w.subscribeInOrder()
	w.ordered.fails(`"contact.updated"`)
	w.awaitCount(time.Minute, 20, inOrder+"status = 'delivered'")
	for i := range 12 {
		w.workers[i%2].crash()
		w.sleep(w.some(time.Second, 3*time.Second))
		w.resendOne()
	}
	w.awaitCount(2*time.Minute, 2, "SELECT count(*) FROM dead_letters WHERE step = 'deliver' AND state = 'open'")
	w.ordered.fails("")
	w.redriveDeliveries()
}

const inOrder = "SELECT count(*) FROM deliveries AS d JOIN subscriptions AS s ON s.id = subscription_id WHERE name = 'ordered' AND "

// resendOne sends an event again that was delivered.
func (w *world) resendOne() {
	w.t.Helper()
	var id string
	require.NoError(w.t, w.read(&id, `SELECT event_id::text FROM deliveries AS d JOIN subscriptions AS s ON s.id = d.subscription_id
		WHERE s.name = 'ordered' AND d.status = 'delivered'
		  AND NOT EXISTS (SELECT FROM delivery_queue AS q WHERE q.event_id = d.event_id AND q.subscription_id = d.subscription_id)
		ORDER BY event_id DESC LIMIT 1`))
	w.ordered.sendAgain(id)
	out, err := w.run("delivery", "resend", id, orderedName)
	require.NoError(w.t, err, out)
}

// redriveDeliveries replays the dead letters of deliveries.
func (w *world) redriveDeliveries() {
	w.t.Helper()
	const next = `SELECT coalesce(min(id), 0) FROM dead_letters WHERE step = 'deliver' AND state = 'open' AND id > $1`
	for last := 0; ; {
		id, err := w.count(next, last)
		require.NoError(w.t, err)
		if id == 0 {
			return
		}
		last = id
		var event string
		require.NoError(w.t, w.read(&event, "SELECT event_id::text FROM dead_letters WHERE id = $1", id))
		w.ordered.sendAgain(event)
		out, err := w.run("dlq", "replay", fmt.Sprint(id))
		require.NoError(w.t, err, out)
	}
}

// checkOrder asserts that each key was delivered in the order of the change feed, except for what operators have sent again, and
// that nothing is missing.
func checkOrder(w *world) {
	w.t.Helper()
	w.inStore(func(ctx context.Context, s *persistence.Store) error {
		place, kind := map[string]int{}, map[string]string{}
		for after, more := w.ordered.start, true; more; {
			page, err := s.Changes.Changes(ctx, after, 1000)
			if err != nil {
				return err
			}
			for _, c := range page.Items {
				if c.Subject == feed.Event && c.Action == feed.Processed {
					place[c.ID], kind[c.ID] = len(place), c.Kind
				}
			}
			after, more = page.Next, page.More
		}
		last := map[string]string{}
		for _, id := range w.ordered.firsts() {
			key := kind[id]
			require.NotEmpty(w.t, key, "%s was delivered and isn't in the feed", id)
			if before := last[key]; before != "" && place[before] > place[id] {
				w.t.Errorf("%s: %s was delivered after %s, which follows it", key, id, before)
			}
			last[key] = id
		}
		require.Contains(w.t, last, "contact.updated", "the key that failed is delivered again")
		sub, err := s.Subscriptions.Subscription(ctx, orderedName)
		if err != nil {
			return err
		}
		found, err := check.Deliveries(ctx, persistence.Config{URL: w.sql.url(w.name)},
			check.Endpoint{SubscriptionID: sub.ID, Seen: w.ordered.seen()})
		for _, f := range found {
			if f.Broken() {
				w.t.Errorf("%s: %d, such as %v", f.Invariant, f.Count, f.Examples)
			}
		}
		return err
	})
	for what, query := range map[string]string{
		"deliveries that have ended otherwise": inOrder + "status <> 'delivered'",
		"events without a delivery": `SELECT count(*) FROM events AS e, subscriptions AS s
			WHERE s.name = 'ordered' AND e.status = 'processed' AND e.received_at > s.created_at + interval '1 second'
			  AND NOT EXISTS (SELECT FROM deliveries AS d WHERE d.event_id = e.id AND d.subscription_id = s.id)`,
	} {
		n, err := w.count(query)
		require.NoError(w.t, err)
		require.Zero(w.t, n, what)
	}
	w.ordered.requireNoForgery()
}
