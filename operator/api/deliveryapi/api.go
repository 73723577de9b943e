package deliveryapi

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"holdfast/delivery"
	"holdfast/delivery/admin"
	"holdfast/event/operation"
	"holdfast/event/oversight"
	"holdfast/operator/httpapi"
)

// API holds what the operator API reads and changes about deliveries. No field is nil.
type API struct {
	Stored DeclaredStore
	// CheckSignature returns what is wrong with a declared signature.
	CheckSignature func(json.RawMessage) error

	Pruner        Pruner
	Destinations  DestinationStore
	Changes       DestinationChanger
	Subscriptions SubscriptionStore
	Trials        Trier
	Deliveries    DeliveryStore
	Resends       Resender
}

// DeclaredStore reads what a declaration is compared with.
type DeclaredStore interface {
	Destinations(ctx context.Context) ([]delivery.Destination, error)
	Subscriptions(ctx context.Context) ([]delivery.Subscription, error)
	// MaskHeaders returns a destination with a mask in place of each header value that equals the stored one.
	MaskHeaders(ctx context.Context, d delivery.Destination) (delivery.Destination, error)
	// CountOpen counts the waiting deliveries of subscriptions, by ID. Those without any are left out.
	CountOpen(ctx context.Context, subscriptionIDs []int64) (map[int64]int64, error)
}

// Pruner deletes what isn't declared. It skips unknown names, and writes one audit entry for each deletion, in its transaction.
type Pruner interface {
	// DeleteSubscriptions also cancels their waiting deliveries.
	DeleteSubscriptions(ctx context.Context, names []string, by oversight.Actor) error
	DeleteDestinations(ctx context.Context, names []string, by oversight.Actor) error
}

// DestinationStore reads destinations and their health. A name may also be the row's ID.
type DestinationStore interface {
	Destination(ctx context.Context, nameOrID string) (delivery.Destination, error)
	// DestinationsAfter returns destinations by name, after the given name, up to limit.
	DestinationsAfter(ctx context.Context, name string, limit int) ([]delivery.Destination, error)
	// DestinationsOf returns destinations by ID, without deleted ones.
	DestinationsOf(ctx context.Context, ids []int64) (map[int64]delivery.Destination, error)
	Condition(ctx context.Context, destinationID int64) (delivery.Condition, error)
	// Conditions returns each destination's health by ID.
	Conditions(ctx context.Context, destinationIDs []int64) (map[int64]delivery.Condition, error)
	SecretsOf(ctx context.Context, destinationID int64) ([]delivery.Secret, error)
}

// DestinationChanger changes destinations. Each change writes one audit entry in its transaction.
type DestinationChanger interface {
	// Apply creates a destination or replaces the one of its name. It returns the secret that was generated or given.
	Apply(ctx context.Context, d delivery.Destination, secret string, by oversight.Actor) (delivery.Destination, string, error)
	// Rotate sets a new secret and returns it; the previous one stays in use until the grace period ends.
	Rotate(ctx context.Context, nameOrID, secret string, grace time.Duration, by oversight.Actor) (string, error)
	SetDestinationState(
		ctx context.Context, nameOrID string, to delivery.DestinationState, by oversight.Actor,
	) (delivery.Condition, error)
	// ProbeDestination makes the next attempt due now. It returns event.ErrNotFound unless the destination is ready.
	ProbeDestination(ctx context.Context, nameOrID string, by oversight.Actor) (delivery.Condition, error)
	DeleteDestination(ctx context.Context, nameOrID string, by oversight.Actor) error
	// ClientCertificateEnd returns when its client certificate expires; nil if it has none that this process can read.
	ClientCertificateEnd(d delivery.Destination) *time.Time
	// Warnings lists likely mistakes in a destination and in a subscription to it. Either can be nil.
	Warnings(d *delivery.Destination, s *delivery.Subscription) []string
}

// SubscriptionStore reads and changes subscriptions. Each change writes one audit entry in its transaction.
type SubscriptionStore interface {
	Subscription(ctx context.Context, nameOrID string) (delivery.Subscription, error)
	// SubscriptionsAfter returns subscriptions by name, after the given name, up to limit.
	SubscriptionsAfter(ctx context.Context, name string, limit int) ([]delivery.Subscription, error)
	// ApplySubscription creates a subscription or replaces the one of its name.
	ApplySubscription(ctx context.Context, s delivery.Subscription, by oversight.Actor) (delivery.Subscription, error)
	DeleteSubscription(ctx context.Context, nameOrID string, by oversight.Actor) (delivery.Removed, error)
}

// Trier tries and checks subscriptions.
type Trier interface {
	Try(ctx context.Context, subscription string, which admin.Choice, by oversight.Actor) (delivery.Trial, error)
	Check(ctx context.Context, subscription string, which admin.Choice) ([]delivery.Finding, error)
}

// DeliveryStore reads, resends and cancels deliveries. Each change writes one audit entry in its transaction.
type DeliveryStore interface {
	// DeliveriesOf returns an event's deliveries by subscription.
	DeliveriesOf(ctx context.Context, eventID string) ([]delivery.Delivery, error)
	AttemptsOf(ctx context.Context, eventID string) ([]delivery.Attempt, error)
	// StatusesOf returns one status for the deliveries of each event that has any: see delivery.Summary.
	StatusesOf(ctx context.Context, eventIDs []string) (map[string]delivery.Status, error)
	// RecentDeliveries summarizes the last finished deliveries of each destination, by its ID.
	RecentDeliveries(ctx context.Context, destinations []int64) (map[int64]delivery.Recent, error)
	Deliveries(ctx context.Context, q delivery.Query) ([]delivery.Delivery, error)
	// Resend queues a delivery that has ended, in whatever way, or the first one of a processed event.
	Resend(ctx context.Context, k delivery.Key, by oversight.Actor) (delivery.Delivery, error)
	CancelDelivery(ctx context.Context, k delivery.Key, by oversight.Actor) (delivery.Delivery, error)
	Orders
	// CountCancelable counts what CancelWaiting would cancel, up to delivery.MaxCanceled + 1.
	CountCancelable(ctx context.Context, q delivery.Query) (int64, error)
	// CancelWaiting cancels waiting deliveries that match a query, at most the given number and delivery.MaxCanceled. It commits in
	// batches, each with its own audit entry.
	CancelWaiting(ctx context.Context, q delivery.Query, most int64, by oversight.Actor) (canceled int64, err error)
}

// Orders reads and changes ordered deliveries. The head of a key is the one delivery of it that may be attempted.
type Orders interface {
	// Ordered returns how far the ordered deliveries of a subscription are, with up to limit heads. A key that isn't "" selects one.
	Ordered(ctx context.Context, subscriptionID int64, key string, limit int) (delivery.Ordered, error)
	// SkipHead moves the head of a key to the end of the key, PauseHead stops the key, ResumeHead makes its head due now.
	SkipHead(ctx context.Context, k delivery.Key, by oversight.Actor) (delivery.Delivery, error)
	PauseHead(ctx context.Context, k delivery.Key, by oversight.Actor) (delivery.Delivery, error)
	ResumeHead(ctx context.Context, k delivery.Key, by oversight.Actor) (delivery.Delivery, error)
}

// Resender resends the events of a time range.
type Resender interface {
	httpapi.Operations[operation.Resend]
	// Plan counts what a resend to a subscription would send of the first, newest events; 0 means all.
	Plan(ctx context.Context, subscription string, since, until time.Time, first int) (operation.ResendPlan, error)
	// ResendMissing queues an event for a subscription that selects it and hasn't got it, and reports whether it did.
	ResendMissing(ctx context.Context, k delivery.Key, by oversight.Actor) (isSent bool, err error)
}

// Routes returns the API's routes. Tests compare them with the access table, and generate openapi.json from them.
func (o *API) Routes() []httpapi.Route {
	return slices.Concat(o.deliveryRoutes(), o.resendRoutes(), o.destinationRoutes(), o.subscriptionRoutes())
}
