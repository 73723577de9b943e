package chaos

import (
	"context"
	"fmt"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/delivery"
	"holdfast/event"
	"holdfast/event/oversight"
	"holdfast/internal/ledger/check"
	"holdfast/persistence"
)

// subscribe has events delivered to an endpoint, until it accepts them.
func (w *world) subscribe(name string, r *receiver, events delivery.Events) {
	w.t.Helper()
	w.subscribeAs(r, delivery.Subscription{Name: name, Events: events}, 1000)
}

// subscribeAs retries often with short pauses, so that a scenario of some seconds shows what takes hours in production.
func (w *world) subscribeAs(r *receiver, wanted delivery.Subscription, attempts int) {
	w.t.Helper()
	wanted.To, wanted.Active = wanted.Name, true
	w.inStore(func(ctx context.Context, s *persistence.Store) error {
		_, err := s.Subscriptions.ApplyDestination(ctx, delivery.Destination{
			Name: wanted.Name, HTTP: &delivery.HTTP{URL: r.url()},
			Timeout: event.Duration(20 * time.Second),
			Retry:   delivery.Retry{Attempts: attempts, Initial: event.Duration(200 * time.Millisecond), Maximum: event.Duration(2 * time.Second)},
			Breaker: delivery.Breaker{Open: event.Duration(2 * time.Second)},
		}, []delivery.Secret{{Value: standardSecret}}, oversight.Actor{Name: "chaos"})
		if err != nil {
			return err
		}
		_, err = s.Subscriptions.ApplySubscription(ctx, wanted, oversight.Actor{Name: "chaos"})
		return err
	})
}

// inStore calls the store like an operator, while everything is running.
func (w *world) inStore(f func(context.Context, *persistence.Store) error) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), time.Minute)
	defer cancel()
	store, err := persistence.Open(ctx, persistence.Config{URL: w.sql.url(w.name), MaxConns: 2})
	require.NoError(w.t, err)
	defer store.Close()
	require.NoError(w.t, f(ctx, store))
}

// setDestination pauses or resumes a destination.
func (w *world) setDestination(name string, to delivery.DestinationState) {
	w.t.Helper()
	w.inStore(func(ctx context.Context, s *persistence.Store) error {
		_, err := s.Subscriptions.SetDestinationState(ctx, name, to, oversight.Actor{Name: "chaos", Reason: "chaos"})
		return err
	})
}

// checkDeliveries asserts that processed events were delivered, that deliveries reported as delivered arrived signed, and that
// nothing else was delivered.
func (w *world) checkDeliveries() {
	w.t.Helper()
	w.inStore(func(ctx context.Context, s *persistence.Store) error {
		everything, err := s.Subscriptions.Subscription(ctx, "everything")
		if err != nil {
			return err
		}
		found, err := check.Deliveries(ctx, persistence.Config{URL: w.sql.url(w.name)},
			check.Endpoint{SubscriptionID: everything.ID, All: true, Seen: w.receiver.seen()})
		for _, f := range found {
			if f.Broken() {
				w.t.Errorf("%s: %d, such as %v", f.Invariant, f.Count, f.Examples)
			}
		}
		return err
	})
	// Its number of attempts is unlimited: a delivery that no longer waits was delivered.
	undelivered, err := w.count(`SELECT count(*) FROM deliveries AS d JOIN subscriptions AS s ON s.id = d.subscription_id
		WHERE s.name = 'everything' AND d.status <> 'delivered'`)
	require.NoError(w.t, err)
	require.Zero(w.t, undelivered, "deliveries that have ended otherwise")
	w.receiver.requireNoForgery()
}

// awaitWaiting waits until at least this many deliveries wait.
func (w *world) awaitWaiting(limit time.Duration, least int) {
	w.t.Helper()
	w.awaitCount(limit, least, "SELECT count(*) FROM delivery_queue")
}

// awaitBreaker waits until a destination's breaker has a state.
func (w *world) awaitBreaker(limit time.Duration, name string, state delivery.BreakerState) {
	w.t.Helper()
	eventually(w.t, limit, fmt.Sprintf("the breaker of %s is %s", name, state), func() error {
		n, err := w.count(`SELECT count(*) FROM destination_states JOIN destinations ON id = destination_id
			WHERE name = $1 AND breaker = $2`, name, string(state))
		if err == nil && n == 0 {
			err = fmt.Errorf("it is not")
		}
		return err
	})
}

func (w *world) noneWaits() error {
	n, err := w.count("SELECT count(*) FROM delivery_queue")
	if err == nil && n > 0 {
		err = fmt.Errorf("%d wait", n)
	}
	return err
}
