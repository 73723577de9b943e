package operator_test

import (
	"context"
	"slices"
	"strings"
	"time"

	"holdfast/delivery"
	"holdfast/delivery/admin"
	"holdfast/delivery/handoff"
	"holdfast/delivery/webhook"
	"holdfast/event"
	"holdfast/event/oversight"
)

func someDestination() delivery.Destination {
	return delivery.Destination{
		ID: 3, Name: "crm", Version: 9, InFlight: 4,
		HTTP: &delivery.HTTP{
			URL: "https://crm.example.com/hooks/hunter2?key=hunter2", Headers: delivery.Headers{"X-Key": "hunter3"},
		},
		Rate: &delivery.Rate{Requests: 50, Per: event.Duration(time.Second)},
	}
}

func someSubscription() delivery.Subscription {
	return delivery.Subscription{
		ID: 5, Name: "customers", To: "crm", DestinationID: 3, Active: true, Version: 9,
		Events: delivery.Events{Types: []string{"customer.*"}},
	}
}

func someCondition() delivery.Condition {
	return delivery.Condition{State: delivery.DestinationReady, StateAt: noon, Breaker: delivery.BreakerClosed, Waiting: 2}
}

func someDelivery() delivery.Delivery {
	return delivery.Delivery{
		EventID: someID, SubscriptionID: 5, Subscription: "customers", DestinationID: 3, Destination: "crm", Provider: "acme",
		Type: "thing.changed", Status: delivery.Retrying, Code: "503", Attempts: 2, Waits: "due", QueuedAt: noon, DueAt: &noon, MS: 12,
		Answer: []byte("card 4242 \xff"),
	}
}

// missing returns event.ErrNotFound for the missing name.
func (s *stub) missing(name string) error {
	if s.noSuch == name {
		return event.ErrNotFound
	}
	return nil
}

func (s *stub) Destination(_ context.Context, name string) (delivery.Destination, error) {
	if err := s.missing(name); err != nil {
		return delivery.Destination{}, err
	}
	if name == "queue" {
		return delivery.Destination{ID: 3, Name: name, Temporal: &s.temporal}, s.call("destination")
	}
	return someDestination(), s.call("destination")
}

func (s *stub) DestinationsAfter(_ context.Context, name string, limit int) ([]delivery.Destination, error) {
	return someAfter(someDestination(), someDestination().Name, name, limit), s.call("destinations")
}

// someAfter returns up to two rows, or none after the last name.
func someAfter[T any](row T, last, name string, limit int) []T {
	if name == last {
		return nil
	}
	return slices.Repeat([]T{row}, min(limit, 2))
}

func (s *stub) DestinationsOf(context.Context, []int64) (map[int64]delivery.Destination, error) {
	return map[int64]delivery.Destination{3: someDestination()}, s.call("destinations of")
}

func (s *stub) Condition(context.Context, int64) (delivery.Condition, error) {
	return someCondition(), s.call("condition")
}

func (s *stub) Conditions(context.Context, []int64) (map[int64]delivery.Condition, error) {
	return map[int64]delivery.Condition{3: someCondition()}, s.call("conditions")
}

func (s *stub) SecretsOf(context.Context, int64) ([]delivery.Secret, error) {
	return []delivery.Secret{{Value: "whsec_hunter2hunter2"}, {Value: "whsec_hunter1hunter1", Until: &noon}}, s.call("secrets")
}

func (s *stub) Apply(
	_ context.Context, d delivery.Destination, secret string, by oversight.Actor,
) (delivery.Destination, string, error) {
	s.destination, s.secret = d, secret
	d.ID = 3
	return d, secret, s.changed("apply destination", by)
}

func (s *stub) ClientCertificateEnd(delivery.Destination) *time.Time { return &noon }

func (s *stub) Warnings(to *delivery.Destination, sub *delivery.Subscription) []string {
	providers := func() []string { return []string{"stripe"} }
	reserved := handoff.Reserved{TaskQueues: []string{"events"}, WorkflowTypes: []string{"ProcessEvent"}, Providers: providers}
	return (&admin.Service{CheckAddress: webhook.CheckAddress(nil), CheckFiles: webhook.CheckFiles(""), Providers: providers, Reserved: reserved.Conflicts}).Warnings(to, sub)
}

func (s *stub) Rotate(_ context.Context, _, secret string, grace time.Duration, by oversight.Actor) (string, error) {
	s.secret, s.grace = secret, grace
	return "whsec_new", s.changed("rotate", by)
}

func (s *stub) SetDestinationState(
	_ context.Context, name string, to delivery.DestinationState, by oversight.Actor,
) (delivery.Condition, error) {
	return someCondition(), s.changed(name+" "+string(to), by)
}

func (s *stub) ProbeDestination(_ context.Context, name string, by oversight.Actor) (delivery.Condition, error) {
	return someCondition(), s.changed(name+" probe", by)
}

func (s *stub) DeleteDestination(_ context.Context, name string, by oversight.Actor) error {
	return s.changed("delete "+name, by)
}

func (s *stub) Subscription(_ context.Context, name string) (delivery.Subscription, error) {
	if err := s.missing(name); err != nil || name == s.noSubscription {
		return delivery.Subscription{}, event.ErrNotFound
	}
	return someSubscription(), s.call("subscription")
}

func (s *stub) SubscriptionsAfter(_ context.Context, name string, limit int) ([]delivery.Subscription, error) {
	return someAfter(someSubscription(), someSubscription().Name, name, limit), s.call("subscriptions")
}

func (s *stub) ApplySubscription(
	_ context.Context, sub delivery.Subscription, by oversight.Actor,
) (delivery.Subscription, error) {
	s.subscription = sub
	sub.ID, sub.DestinationID = 5, 3
	return sub, s.changed("apply subscription", by)
}

func (s *stub) DeleteSubscription(_ context.Context, name string, by oversight.Actor) (delivery.Removed, error) {
	return delivery.Removed{Canceled: 412}, s.changed("delete "+name, by)
}

func (s *stub) Try(_ context.Context, _ string, which admin.Choice, by oversight.Actor) (delivery.Trial, error) {
	s.choice = which
	return delivery.Trial{
		EventID: someID, Provider: "acme", Type: "t", Of: "sample", OK: true, Code: "200", MS: 3, Answer: []byte("thanks"),
	}, s.changed("try", by)
}

func (s *stub) Check(_ context.Context, _ string, which admin.Choice) ([]delivery.Finding, error) {
	s.choice = which
	return []delivery.Finding{{About: "task_queue", Text: "nobody polls it", Command: "temporal task-queue describe"}}, s.call("check")
}

func (s *stub) StatusesOf(context.Context, []string) (map[string]delivery.Status, error) {
	return map[string]delivery.Status{}, s.call("statuses")
}

func (s *stub) DeliveriesOf(context.Context, string) ([]delivery.Delivery, error) {
	return []delivery.Delivery{someDelivery()}, s.call("deliveries of")
}

func (s *stub) AttemptsOf(context.Context, string) ([]delivery.Attempt, error) {
	d := someDelivery()
	return []delivery.Attempt{
		{Key: delivery.Key{EventID: someID, SubscriptionID: 5}, Subscription: "customers", Number: 1, At: noon, Code: "503", MS: 12, Answer: d.Answer},
		{Key: delivery.Key{EventID: someID, SubscriptionID: 6}, Subscription: "other", Number: 1, At: noon, OK: true, Code: "200", MS: 12},
	}, s.call("attempts")
}

func (s *stub) Deliveries(_ context.Context, q delivery.Query) ([]delivery.Delivery, error) {
	s.deliveries = q
	rows := make([]delivery.Delivery, q.Limit)
	for i := range rows {
		rows[i] = someDelivery()
	}
	return rows, s.call("deliveries")
}

func (s *stub) Resend(_ context.Context, k delivery.Key, by oversight.Actor) (delivery.Delivery, error) {
	s.key = k
	return someDelivery(), s.changed("resend", by)
}

func (s *stub) SkipHead(_ context.Context, k delivery.Key, by oversight.Actor) (delivery.Delivery, error) {
	return s.CancelDelivery(context.Background(), k, by)
}

func (s *stub) PauseHead(_ context.Context, k delivery.Key, by oversight.Actor) (delivery.Delivery, error) {
	return s.CancelDelivery(context.Background(), k, by)
}

func (s *stub) ResumeHead(_ context.Context, k delivery.Key, by oversight.Actor) (delivery.Delivery, error) {
	return s.CancelDelivery(context.Background(), k, by)
}

func (s *stub) Ordered(context.Context, int64, string, int) (delivery.Ordered, error) {
	return delivery.Ordered{Heads: []delivery.OrderHead{}}, nil
}

func (s *stub) CancelDelivery(_ context.Context, k delivery.Key, by oversight.Actor) (delivery.Delivery, error) {
	s.key = k
	return someDelivery(), s.changed("cancel delivery", by)
}

func (s *stub) CountCancelable(_ context.Context, q delivery.Query) (int64, error) {
	s.deliveries = q
	return 12, s.call("count cancelable")
}

func (s *stub) CancelWaiting(_ context.Context, q delivery.Query, most int64, by oversight.Actor) (int64, error) {
	s.deliveries = q
	return min(most, 12), s.changed("cancel waiting", by)
}

func (s *stub) Destinations(context.Context) ([]delivery.Destination, error) {
	return []delivery.Destination{someDestination()}, s.call("all destinations")
}

func (s *stub) MaskHeaders(_ context.Context, d delivery.Destination) (delivery.Destination, error) {
	return d, s.call("mask headers")
}

func (s *stub) Subscriptions(context.Context) ([]delivery.Subscription, error) {
	return []delivery.Subscription{someSubscription()}, s.call("all subscriptions")
}

func (s *stub) CountOpen(_ context.Context, ids []int64) (map[int64]int64, error) {
	counts := map[int64]int64{}
	for _, id := range ids {
		counts[id] = 412
	}
	return counts, s.call("count open")
}

func (s *stub) DeleteSubscriptions(_ context.Context, names []string, by oversight.Actor) error {
	return s.changed("delete subscriptions "+strings.Join(names, " "), by)
}

func (s *stub) DeleteDestinations(_ context.Context, names []string, by oversight.Actor) error {
	return s.changed("delete destinations "+strings.Join(names, " "), by)
}
