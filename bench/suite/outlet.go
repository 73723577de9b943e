package suite

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"holdfast/bench/baseline"
	"holdfast/bench/lab"
	"holdfast/delivery"
	"holdfast/event/oversight"
	"holdfast/internal/ledger"
	"holdfast/persistence"
)

// Outlet is a product with its own database and subscriptions.
type Outlet struct {
	Suite    *Suite
	Database string
	Node     *lab.Node
	// The endpoints of its deliveries; none if they become workflows.
	Endpoints []*lab.Endpoint
	// Each is the number of deliveries of an event.
	Each int64
}

// Loopback lets the product deliver to this machine.
const Loopback = "HOLDFAST_DELIVERIES_ALLOWED_NETWORKS=127.0.0.0/8"

// WithOutlet runs f with a product that has subscriptions, and stops it.
func (s *Suite) WithOutlet(
	ctx context.Context, database string, subscribe func(context.Context, *persistence.Store) error, o Outlet, f func(*Outlet) error,
) error {
	if err := s.Lab.Migrate(ctx, database); err != nil {
		return err
	}
	store, err := persistence.Open(ctx, persistence.Config{
		URL: s.Lab.Postgres.URL(database), ApplicationName: "bench", MaxConns: 1,
	})
	if err != nil {
		return err
	}
	err = subscribe(ctx, store)
	store.Close()
	if err != nil {
		return err
	}
	return s.Serving(ctx, database, func(node *lab.Node) error {
		o.Suite, o.Database, o.Node = s, database, node
		return f(&o)
	})
}

// Bench is the actor that creates the subscriptions.
var Bench = oversight.Actor{Name: "bench"}

// Subscribe creates a destination and its subscription.
func Subscribe(ctx context.Context, store *persistence.Store, d delivery.Destination, sub delivery.Subscription) error {
	var secrets []delivery.Secret
	if d.HTTP != nil {
		secrets = []delivery.Secret{{Value: lab.Secret}}
	}
	if _, err := store.Subscriptions.ApplyDestination(ctx, d, secrets, Bench); err != nil {
		return fmt.Errorf("destination %s: %w", d.Name, err)
	}
	sub.Name, sub.To, sub.Active = d.Name, d.Name, true
	if _, err := store.Subscriptions.ApplySubscription(ctx, sub, Bench); err != nil {
		return fmt.Errorf("subscription %s: %w", sub.Name, err)
	}
	return nil
}

// inFlight is the max in flight of a benchmark endpoint.
const inFlight = 64

// Endpoints subscribes n endpoints, all served by r, to everything.
func Endpoints(n int, r *lab.Endpoint) func(context.Context, *persistence.Store) error {
	return func(ctx context.Context, store *persistence.Store) error {
		for i := range n {
			d := delivery.Destination{
				Name: fmt.Sprintf("endpoint-%d", i), HTTP: &delivery.HTTP{URL: r.URL}, InFlight: inFlight,
			}
			if err := Subscribe(ctx, store, d, delivery.Subscription{}); err != nil {
				return err
			}
		}
		return nil
	}
}

// Ordered subscribes an endpoint to everything, in the order of 256 keys.
func Ordered(r *lab.Endpoint) func(context.Context, *persistence.Store) error {
	return func(ctx context.Context, store *persistence.Store) error {
		d := delivery.Destination{Name: "ordered", HTTP: &delivery.HTTP{URL: r.URL}, InFlight: inFlight}
		return Subscribe(ctx, store, d, delivery.Subscription{OrderBy: ".event.id[-2:]"})
	}
}

// OwnWorkflows subscribes a task queue without workers to everything.
func OwnWorkflows(ctx context.Context, store *persistence.Store) error {
	d := delivery.Destination{
		Name: "own", Temporal: &delivery.Temporal{TaskQueue: baseline.OwnQueue}, InFlight: inFlight,
	}
	return Subscribe(ctx, store, d, delivery.Subscription{Start: &delivery.Start{
		WorkflowID: `"own-" + .event.id`, Type: baseline.OwnType, Input: []delivery.JQ{"{event_id: .event.id}"},
	}})
}

// Load returns a load that ends with the last delivery.
func (o *Outlet) Load(provider string) Drive {
	d := Load(o.Node, provider)
	d.Database, d.expect = o.Database, o.expect
	return d
}

// expect begins to count deliveries, and returns a function that waits for a number of events' deliveries.
func (o *Outlet) expect() awaitDeliveries {
	begun, before := time.Now(), o.received()
	return func(ctx context.Context, events int64) (last time.Time, err error) {
		ctx, cancel := context.WithTimeout(ctx, DrainLimit)
		defer cancel()
		if len(o.Endpoints) == 0 {
			return o.awaitRows(ctx, events, begun)
		}
		err = lab.Poll(ctx, func() (bool, error) { return o.received()-before >= events*o.Each, nil })
		for _, r := range o.Endpoints {
			if _, at := r.Count(); at.After(last) {
				last = at
			}
		}
		return last, err
	}
}

func (o *Outlet) received() (n int64) {
	for _, r := range o.Endpoints {
		count, _ := r.Count()
		n += count
	}
	return n
}

const deliveredSince = `
SELECT count(*), coalesce(max(done_at), now()) FROM deliveries WHERE status = 'delivered' AND done_at >= $1`

// awaitRows waits in the database for deliveries that no endpoint counts.
func (o *Outlet) awaitRows(ctx context.Context, events int64, begun time.Time) (last time.Time, err error) {
	conn, err := pgx.Connect(ctx, o.Suite.Lab.Postgres.URL(o.Database))
	if err != nil {
		return last, err
	}
	err = lab.Poll(ctx, func() (bool, error) {
		var n int64
		err := conn.QueryRow(ctx, deliveredSince, begun).Scan(&n, &last)
		return n >= events*o.Each, err
	})
	return last, errors.Join(err, conn.Close(context.WithoutCancel(ctx)))
}

const (
	processedAt = `SELECT id::text, processed_at FROM events WHERE id = ANY ($1::uuid[]) AND processed_at IS NOT NULL`
	keysOf      = `SELECT id::text, key FROM events WHERE id = ANY ($1::uuid[])`
)

// FromCommit returns the time from commit to arrival of each recorded delivery, in ms.
func (o *Outlet) FromCommit(ctx context.Context) ([]float64, error) {
	return waitsOf(ctx, o, processedAt, func(at time.Time) (time.Time, bool) { return at, true })
}

// FromAck returns the time from the acknowledgment to the arrival of each recorded delivery of a load, in ms.
func (o *Outlet) FromAck(ctx context.Context, path string) ([]float64, error) {
	sent, err := ledger.ReadFile(path)
	if err != nil {
		return nil, err
	}
	acks := map[string]time.Time{}
	for _, e := range sent.Entries {
		if e.Outcome() == ledger.OutcomeOK {
			acks[e.Key] = e.AnsweredAt()
		}
	}
	return waitsOf(ctx, o, keysOf, func(key string) (time.Time, bool) {
		at, ok := acks[key]
		return at, ok
	})
}

// waitsOf returns the time until the arrival of each recorded delivery, in ms. A statement returns the IDs of events and a value
// each, and begin the time from which the wait of such an event counts; false if it has none.
func waitsOf[T any](
	ctx context.Context, o *Outlet, statement string, begin func(value T) (time.Time, bool),
) (all []float64, err error) {
	noted := map[string]time.Time{}
	var ids []string
	for _, r := range o.Endpoints {
		for id, at := range r.Remember() {
			noted[id], ids = at, append(ids, id)
		}
	}
	conn, err := pgx.Connect(ctx, o.Suite.Lab.Postgres.URL(o.Database))
	if err != nil {
		return nil, err
	}
	rows, _ := conn.Query(ctx, statement, ids) // the rows return its error
	var id string
	var value T
	_, err = pgx.ForEachRow(rows, []any{&id, &value}, func() error {
		if at, ok := begin(value); ok {
			all = append(all, Milliseconds(noted[id].Sub(at)))
		}
		return nil
	})
	return all, errors.Join(err, conn.Close(ctx))
}
