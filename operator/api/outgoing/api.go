package outgoing

import (
	"context"
	"time"

	"holdfast/delivery"
	"holdfast/delivery/desk"
	"holdfast/event/operation"
	"holdfast/event/oversight"
	"holdfast/operator/exchange"
)

// API is what the operator API reads and changes of what goes out. None of it is nil.
type API struct {
	Destinations  DestinationStore
	Changes       DestinationChanger
	Subscriptions SubscriptionStore
	Trials        Trier
	Deliveries    DeliveryStore
	Resends       Resender
}

// DestinationStore reads destinations, and how they do. A name may also be the number of the row.
type DestinationStore interface {
	Destination(ctx context.Context, nameOrID string) (delivery.Destination, error)
	// DestinationsAfter are by name, those after one, at most limit.
	DestinationsAfter(ctx context.Context, name string, limit int) ([]delivery.Destination, error)
	// DestinationsOf are by ID; those that are deleted are left out.
	DestinationsOf(ctx context.Context, ids []int64) (map[int64]delivery.Destination, error)
	Condition(ctx context.Context, destinationID int64) (delivery.Condition, error)
	// Conditions are by the number of the destination.
	Conditions(ctx context.Context, destinationIDs []int64) (map[int64]delivery.Condition, error)
	SecretsOf(ctx context.Context, destinationID int64) ([]delivery.Secret, error)
}

// DestinationChanger changes destinations. Each change writes one audit entry in its transaction.
type DestinationChanger interface {
	// Apply makes a destination, or makes the one of its name what it is. A secret that was made or given is returned.
	Apply(ctx context.Context, d delivery.Destination, secret string, by oversight.Actor) (delivery.Destination, string, error)
	// Rotate gives it a new secret, and returns that; the one before is used until the grace has passed.
	Rotate(ctx context.Context, nameOrID, secret string, grace time.Duration, by oversight.Actor) (string, error)
	SetDestinationState(
		ctx context.Context, nameOrID string, to delivery.DestinationState, by oversight.Actor,
	) (delivery.Condition, error)
	DeleteDestination(ctx context.Context, nameOrID string, by oversight.Actor) error
	// Warnings names what is probably a mistake in a destination, and in a subscription to it. Either can be nil.
	Warnings(d *delivery.Destination, s *delivery.Subscription) []string
}

// SubscriptionStore reads and changes subscriptions. Each change writes one audit entry in its transaction.
type SubscriptionStore interface {
	Subscription(ctx context.Context, nameOrID string) (delivery.Subscription, error)
	// SubscriptionsAfter are by name, those after one, at most limit.
	SubscriptionsAfter(ctx context.Context, name string, limit int) ([]delivery.Subscription, error)
	// ApplySubscription makes a subscription, or makes the one of its name what it is.
	ApplySubscription(ctx context.Context, s delivery.Subscription, by oversight.Actor) (delivery.Subscription, error)
	DeleteSubscription(ctx context.Context, nameOrID string, by oversight.Actor) (delivery.Removed, error)
}

// Trier tries and checks subscriptions.
type Trier interface {
	Try(ctx context.Context, subscription string, which desk.Choice, by oversight.Actor) (delivery.Trial, error)
	Check(ctx context.Context, subscription string, which desk.Choice) ([]delivery.Finding, error)
}

// DeliveryStore reads deliveries, sends them again and cancels them. Each change writes one audit entry in its transaction.
type DeliveryStore interface {
	// DeliveriesOf are those of an event, by subscription.
	DeliveriesOf(ctx context.Context, eventID string) ([]delivery.Delivery, error)
	AttemptsOf(ctx context.Context, eventID string) ([]delivery.Attempt, error)
	// StatusesOf returns one status for the deliveries of each event that has any: see delivery.Summary.
	StatusesOf(ctx context.Context, eventIDs []string) (map[string]delivery.Status, error)
	Deliveries(ctx context.Context, q delivery.Query) ([]delivery.Delivery, error)
	SendAgain(ctx context.Context, k delivery.Key, by oversight.Actor) (delivery.Delivery, error)
	CancelDelivery(ctx context.Context, k delivery.Key, by oversight.Actor) (delivery.Delivery, error)
	// CountCancelable counts what CancelWaiting would cancel, up to delivery.MaxCanceled + 1.
	CountCancelable(ctx context.Context, q delivery.Query) (int64, error)
	// CancelWaiting cancels deliveries of a query that wait, at most as many as are given and delivery.MaxCanceled. It commits in
	// batches, each with an audit entry of its own.
	CancelWaiting(ctx context.Context, q delivery.Query, most int64, by oversight.Actor) (canceled int64, err error)
}

// Resender sends the events of a time again.
type Resender interface {
	exchange.Operations[operation.Resend]
	// Plan counts what a resend to a subscription would do.
	Plan(ctx context.Context, subscription string, since, until time.Time) (operation.ResendPlan, error)
}

// Routes are those of the API. Each of them stands in the access table and in openapi.json, which tests compare.
func (o *API) Routes() []exchange.Route {
	all := []exchange.Route{
		exchange.Get("/deliveries", "deliveries, the newest event first", o.listDeliveries),
		exchange.Post("/deliveries/cancel", "cancel deliveries that wait", o.cancelDeliveries),
		exchange.Get("/deliveries/:id/:subscription", "the delivery of one event to one subscription", o.showDelivery),
		exchange.Post("/deliveries/:id/:subscription/send", "send it again", o.changeDelivery(o.Deliveries.SendAgain)),
		exchange.Post("/deliveries/:id/:subscription/cancel", "do not deliver it", o.changeDelivery(o.Deliveries.CancelDelivery)),
		exchange.Post("/resends", "send the events of a time again", o.startResend),
		exchange.Post("/resends/plan", "what a resend would do", o.planResend),
	}
	all = append(all, exchange.OperationRoutes(operation.KindResend, o.Resends)...)
	return append(append(all, o.destinationRoutes()...), o.subscriptionRoutes()...)
}

func (o *API) destinationRoutes() []exchange.Route {
	return []exchange.Route{
		exchange.Get("/destinations", "destinations, and how they do", o.listDestinations),
		exchange.Post("/destinations", "make a destination", o.createDestination),
		exchange.Get("/destinations/:name", "one destination", o.showDestination),
		exchange.Put("/destinations/:name", "replace a destination, or make it", o.replaceDestination),
		exchange.Patch("/destinations/:name", "change fields of a destination", o.patchDestination),
		exchange.Delete("/destinations/:name", "delete a destination that no subscription needs", o.deleteDestination),
		exchange.Post("/destinations/:name/rotate-secret", "give it a new secret, shown once", o.rotateSecret(itself)),
		exchange.Post("/destinations/:name/pause", "keep what comes, and send nothing", o.setState(itself, delivery.DestinationPaused)),
		exchange.Post("/destinations/:name/resume", "send again", o.setState(itself, delivery.DestinationReady)),
		exchange.Post("/destinations/:name/disable", "keep what comes, until somebody resumes it",
			o.setState(itself, delivery.DestinationDisabled)),
	}
}

func (o *API) subscriptionRoutes() []exchange.Route {
	return []exchange.Route{
		exchange.Get("/subscriptions", "subscriptions, and how their destinations do", o.listSubscriptions),
		exchange.Post("/subscriptions", "make a subscription, in the flat form its destination as well", o.createSubscription),
		exchange.Get("/subscriptions/:name", "one subscription", o.showSubscription),
		exchange.Put("/subscriptions/:name", "replace a subscription, or make it", o.replaceSubscription),
		exchange.Patch("/subscriptions/:name", "change fields of a subscription", o.patchSubscription),
		exchange.Delete("/subscriptions/:name", "delete a subscription, and cancel what waits for it", o.deleteSubscription),
		exchange.Post("/subscriptions/:name/rotate-secret", "give its destination a new secret, shown once",
			o.rotateSecret(o.targetOf)),
		exchange.Post("/subscriptions/:name/pause", "pause its destination", o.setState(o.targetOf, delivery.DestinationPaused)),
		exchange.Post("/subscriptions/:name/resume", "resume its destination", o.setState(o.targetOf, delivery.DestinationReady)),
		exchange.Post("/subscriptions/:name/disable", "disable its destination", o.setState(o.targetOf, delivery.DestinationDisabled)),
		exchange.Post("/subscriptions/:name/test", "send one event to it now", o.trySubscription),
		exchange.Get("/subscriptions/:name/check", "look for mistakes, and send nothing", o.checkSubscription),
		exchange.Post("/subscriptions/:name/check", "look for mistakes with an event, and send nothing", o.checkSubscription),
	}
}
