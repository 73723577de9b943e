package peers

import (
	"context"
	"errors"
	"fmt"

	"holdfast/bench/lab"
	"holdfast/delivery"
	"holdfast/event/oversight"
	"holdfast/persistence"
)

// holdfast is a serve process with Temporal and PostgreSQL.
type holdfast struct {
	lab      *lab.Lab
	arrivals *arrivals
	ingress  int
	node     *lab.Node
}

func newHoldfast(l *lab.Lab, a *arrivals) (*holdfast, error) {
	ports, err := freePorts(1)
	if err != nil {
		return nil, err
	}
	return &holdfast{lab: l, arrivals: a, ingress: ports[0]}, nil
}

func (*holdfast) name() string { return "Holdfast" }

func (h *holdfast) sides() []side {
	at := "http://" + address(h.ingress)
	return []side{
		{
			name: "Holdfast, a workflow per event", one: target{providerEvents, at}, many: target{providerEvents100, at},
			events: 800, fanned: 80,
			ack: "committed and synced in PostgreSQL, as a workflow of Temporal or as a row of the inbox",
		},
		{
			name: "Holdfast, bulk lane", one: target{providerBulk, at}, many: target{providerBulk100, at},
			events: 5000, fanned: 250,
			ack: "committed and synced in PostgreSQL, as a row of the inbox",
		},
	}
}

func (h *holdfast) prepare(ctx context.Context) error {
	// The lab has started Temporal already.
	if err := errors.Join(h.lab.Migrate(ctx, lab.ProductDatabase), h.subscribeAll(ctx)); err != nil {
		return err
	}
	return h.startNode(ctx)
}

func (h *holdfast) subscribeAll(ctx context.Context) error {
	store, err := persistence.Open(ctx, persistence.Config{
		URL: h.lab.Postgres.URL(lab.ProductDatabase), ApplicationName: "bench", MaxConns: 1,
	})
	if err != nil {
		return err
	}
	defer store.Close()
	err = h.subscribe(ctx, store, "one", 1, providerEvents, providerBulk)
	return errors.Join(err, h.subscribe(ctx, store, "many", manyEndpoints, providerEvents100, providerBulk100))
}

// subscribe creates n endpoints for the events of providers.
func (h *holdfast) subscribe(ctx context.Context, store *persistence.Store, name string, n int, providers ...string) error {
	actor := oversight.Actor{Name: "bench"}
	for i := range n {
		label := fmt.Sprintf("%s-%d", name, i)
		d := delivery.Destination{Name: label, HTTP: &delivery.HTTP{URL: h.arrivals.endpointURL(label)}, InFlight: 64}
		if _, err := store.Subscriptions.ApplyDestination(ctx, d, []delivery.Secret{{Value: lab.Secret}}, actor); err != nil {
			return err
		}
		sub := delivery.Subscription{Name: label, To: label, Active: true, Events: delivery.Events{Providers: providers}}
		if _, err := store.Subscriptions.ApplySubscription(ctx, sub, actor); err != nil {
			return err
		}
	}
	return nil
}

func (h *holdfast) startNode(ctx context.Context) (err error) {
	h.node, err = h.lab.StartProduct(ctx, lab.Product{Role: "serve", Database: lab.ProductDatabase, Environ: []string{
		"HOLDFAST_DELIVERIES_ALLOWED_NETWORKS=127.0.0.0/8", "HOLDFAST_INGRESS_ADDR=" + address(h.ingress),
	}})
	return err
}

func (h *holdfast) start(ctx context.Context) error {
	if err := h.lab.StartTemporal(ctx); err != nil {
		return err
	}
	return h.startNode(ctx)
}

func (h *holdfast) stop() error {
	err := h.node.Stop()
	return errors.Join(err, h.lab.StopTemporal())
}

func (h *holdfast) processes() []int { return []int{h.node.PID, h.lab.Temporal.PID()} }

// recover starts serve again, since nothing else does.
func (h *holdfast) recover(ctx context.Context) error {
	_ = h.node.Stop() // it was killed, which Stop returns as an error
	err := lab.Poll(ctx, func() (bool, error) { return h.lab.Temporal.Ping(ctx) == nil, nil })
	if err != nil {
		return fmt.Errorf("wait for Temporal: %w", err)
	}
	return h.startNode(ctx)
}

// killEverything kills all processes of a system and PostgreSQL at once.
func killEverything(s system, l *lab.Lab) error {
	return kill(append(s.processes(), l.Postgres.PID()))
}
