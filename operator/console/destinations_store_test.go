package console_test

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"sync"
	"time"

	"holdfast/delivery"
	"holdfast/delivery/admin"
	"holdfast/delivery/handoff"
	"holdfast/delivery/webhook"
	"holdfast/event"
	"holdfast/event/oversight"
	"holdfast/operator/api"
	"holdfast/operator/api/deliveryapi"
	"holdfast/operator/console"
)

// destinations keeps destinations and subscriptions in memory, and validates them like the database's store.
type destinations struct {
	deliveryapi.DeliveryStore
	deliveryapi.Resender
	deliveryapi.Trier

	mu            sync.Mutex
	all           map[string]delivery.Destination
	subscriptions map[string]delivery.Subscription
	secrets       map[string][]delivery.Secret
	states        map[string]delivery.DestinationState
	deliveries    []delivery.Delivery
	sent          []delivery.Key
	waiting       int64
	canceled      []delivery.Query
	ordered       map[int64]delivery.Ordered
	skipped       []delivery.Key
	did           []oversight.Actor
	// condition is that of each destination; nil is healthy. A probe makes it probed.
	condition *delivery.Condition
	probed    delivery.Condition
	// lost is the error of reads of conditions.
	lost error
}

func newDestinations() *destinations {
	return &destinations{
		all: map[string]delivery.Destination{}, subscriptions: map[string]delivery.Subscription{},
		secrets: map[string][]delivery.Secret{}, states: map[string]delivery.DestinationState{},
	}
}

func (s *destinations) shown() console.Options {
	changes := &admin.Service{
		Store: s, NewSecret: func() string { return "whsec_bWFkZSBieSB0aGUgZGVzaw==" }, CheckAddress: webhook.CheckAddress(nil),
		CheckSignature: func(json.RawMessage) error { return nil }, CheckFiles: webhook.CheckFiles(""),
		Providers: func() []string { return []string{"stripe"} }, Proxies: []string{"office"},
		CertificateEnd: func(delivery.HTTP) (time.Time, bool) { return time.Now().Add(1000 * time.Hour), true },
		Reserved:       handoff.Reserved{TaskQueues: []string{"events"}}.Conflicts,
	}
	return console.Options{API: &api.API{Outbound: &deliveryapi.API{
		Destinations: s, Changes: changes, Subscriptions: s, Deliveries: s, Resends: s, Trials: s,
	}}}
}

func (s *destinations) Destination(_ context.Context, name string) (delivery.Destination, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	d, ok := s.all[name]
	if !ok {
		return d, event.ErrNotFound
	}
	return d, nil
}

func (s *destinations) DestinationsOf(_ context.Context, ids []int64) (map[int64]delivery.Destination, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	found := map[int64]delivery.Destination{}
	for _, d := range s.all {
		if slices.Contains(ids, d.ID) {
			found[d.ID] = d
		}
	}
	return found, nil
}

func (s *destinations) DestinationsAfter(_ context.Context, after string, _ int) (page []delivery.Destination, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(s.all)) {
		if name > after {
			page = append(page, s.all[name])
		}
	}
	return page, nil
}

func (s *destinations) ApplyDestination(
	_ context.Context, d delivery.Destination, secrets []delivery.Secret, by oversight.Actor,
) (delivery.Destination, error) {
	if err := d.Check(); err != nil {
		return d, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if before, ok := s.all[d.Name]; ok && !by.IsAdmin() {
		if err := delivery.CheckChange(&before, d, secrets != nil); err != nil {
			return d, err
		}
	}
	before := s.all[d.Name].Version
	if err := delivery.CheckVersion(d.Version, before); err != nil {
		return d, err
	}
	d.ID, d.Version = int64(len(d.Name)), before+1
	s.all[d.Name], s.did = d, append(s.did, by)
	if secrets != nil {
		s.secrets[d.Name] = secrets
	}
	return d, nil
}

func (s *destinations) DeleteDestination(_ context.Context, name string, by oversight.Actor) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.all, name)
	s.did = append(s.did, by)
	return nil
}

func (s *destinations) RotateSecret(context.Context, string, delivery.Secret, time.Duration, oversight.Actor) error {
	return nil
}

func (s *destinations) SetDestinationState(
	_ context.Context, name string, to delivery.DestinationState, by oversight.Actor,
) (c delivery.Condition, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.states[name], s.did = to, append(s.did, by)
	return c, nil
}

func (s *destinations) Condition(context.Context, int64) (delivery.Condition, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.condition != nil {
		return *s.condition, s.lost
	}
	return delivery.Condition{State: delivery.DestinationReady, Breaker: delivery.BreakerClosed}, s.lost
}

func (s *destinations) Conditions(_ context.Context, ids []int64) (map[int64]delivery.Condition, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	by := map[int64]delivery.Condition{}
	if s.condition != nil {
		for _, id := range ids {
			by[id] = *s.condition
		}
	}
	return by, nil
}

func (s *destinations) ProbeDestination(_ context.Context, _ string, by oversight.Actor) (c delivery.Condition, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.did, s.condition = append(s.did, by), &s.probed
	return s.probed, nil
}

func (s *destinations) SecretsOf(context.Context, int64) ([]delivery.Secret, error) { return nil, nil }

func (s *destinations) RecentDeliveries(context.Context, []int64) (map[int64]delivery.Recent, error) {
	return map[int64]delivery.Recent{}, nil
}

func (s *destinations) Subscription(_ context.Context, name string) (delivery.Subscription, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	one, ok := s.subscriptions[name]
	if !ok {
		return one, event.ErrNotFound
	}
	return one, nil
}

func (s *destinations) SubscriptionsAfter(context.Context, string, int) ([]delivery.Subscription, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Values(s.subscriptions)), nil
}

func (s *destinations) ApplySubscription(
	_ context.Context, one delivery.Subscription, by oversight.Actor,
) (delivery.Subscription, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	to := s.all[one.To]
	if err := one.CheckFor(to); err != nil {
		return one, err
	}
	before := s.subscriptions[one.Name].Version
	if err := delivery.CheckVersion(one.Version, before); err != nil {
		return one, err
	}
	one.ID, one.DestinationID, one.Version = int64(len(one.Name)), to.ID, before+1
	s.subscriptions[one.Name], s.did = one, append(s.did, by)
	return one, nil
}

func (s *destinations) DeleteSubscription(_ context.Context, name string, by oversight.Actor) (delivery.Removed, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.subscriptions, name)
	s.did = append(s.did, by)
	return delivery.Removed{Canceled: 3}, nil
}

func (s *destinations) Deliveries(context.Context, delivery.Query) ([]delivery.Delivery, error) {
	return nil, nil
}

func (s *destinations) DeliveriesOf(context.Context, string) ([]delivery.Delivery, error) {
	return s.deliveries, nil
}

func (s *destinations) Resend(_ context.Context, k delivery.Key, by oversight.Actor) (d delivery.Delivery, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sent, s.did = append(s.sent, k), append(s.did, by)
	return d, nil
}

func (s *destinations) CountCancelable(_ context.Context, q delivery.Query) (int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.waiting, nil
}

func (s *destinations) CancelWaiting(_ context.Context, q delivery.Query, most int64, by oversight.Actor) (int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.canceled, s.did = append(s.canceled, q), append(s.did, by)
	return min(most, s.waiting), nil
}

func (s *destinations) Ordered(_ context.Context, id int64, _ string, _ int) (delivery.Ordered, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ordered[id], nil
}

func (s *destinations) SkipHead(_ context.Context, k delivery.Key, by oversight.Actor) (delivery.Delivery, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.skipped, s.did = append(s.skipped, k), append(s.did, by)
	return delivery.Delivery{EventID: k.EventID, Destination: "crm"}, nil
}
