package deliveryapi

import (
	"context"
	"time"

	"github.com/gofiber/fiber/v2"

	"holdfast/delivery"
	"holdfast/event/operation"
	"holdfast/event/oversight"
	"holdfast/operator/httpapi"
)

// deliveryResend is the body of a resend of one event.
type deliveryResend struct {
	httpapi.Reasoned

	// Missing: only if the subscription selects the event, and the event has no delivery.
	Missing bool `json:"missing,omitempty"`
}

// Resent is the result of a resend of one event.
type Resent struct {
	// Sent is false if nothing was queued.
	Sent bool `json:"sent"`
	// Delivery is the event's delivery to the subscription, if it has one.
	Delivery *DeliveryView `json:"delivery,omitempty"`
}

func (o *API) resendDelivery(c *fiber.Ctx) error {
	var body deliveryResend
	if err := httpapi.ReadChange(c, &body); err != nil {
		return err
	}
	return httpapi.Respond(c, func(c *fiber.Ctx) (Resent, error) {
		ctx := httpapi.RequestContext(c)
		k, err := o.keyOf(ctx, c)
		if err != nil {
			return Resent{}, err
		}
		by := httpapi.Actor(c, body.Reason)
		if body.Missing {
			return o.resendMissing(ctx, c, k, by)
		}
		d, err := o.Deliveries.Resend(ctx, k, by)
		if err != nil {
			return Resent{}, err
		}
		view := ViewDelivery(c, d)
		return Resent{Sent: true, Delivery: &view}, nil
	})
}

func (o *API) resendMissing(ctx context.Context, c *fiber.Ctx, k delivery.Key, by oversight.Actor) (r Resent, err error) {
	if r.Sent, err = o.Resends.ResendMissing(ctx, k, by); err != nil {
		return r, err
	}
	all, err := o.Deliveries.DeliveriesOf(ctx, k.EventID)
	for _, d := range all {
		if d.SubscriptionID == k.SubscriptionID {
			view := ViewDelivery(c, d)
			r.Delivery = &view
		}
	}
	return r, err
}

func (o *API) resendRoutes() []httpapi.Route {
	return append(httpapi.OperationRoutes(operation.KindResend, o.Resends),
		httpapi.Post("startResend", "/resends", "Deliver the events of a time range to one subscription",
			httpapi.Starts(o.StartResend)).
			Explain("Delivers the events that match the subscription now and have no delivery; with everything, also those that have "+
				"one. Events that were imported and that the previous system had processed need imported.").
			Takes(ResendRequest{}, "subscription", "since").Returns(fiber.StatusAccepted, operation.Resend{}),
		httpapi.Post("planResend", "/resends/plan", "Count what a resend would deliver, and deliver nothing", o.planResend).
			Takes(ResendRequest{}, "subscription", "since").Returns(fiber.StatusOK, operation.ResendPlan{}))
}

// ResendRequest is the body of a resend or its plan.
type ResendRequest struct {
	httpapi.Reasoned

	// Subscription is a name or a number.
	Subscription string `json:"subscription"`
	// Since selects events that were accepted at or after this time.
	Since time.Time `json:"since"`
	// Until selects events that were accepted before this time; now by default.
	Until time.Time `json:"until,omitzero"`
	// Everything resends delivered events too.
	Everything bool `json:"everything,omitempty"`
	// Imported also sends imported events that the previous system had processed. A plan ignores it.
	Imported bool `json:"imported,omitempty"`
	// Rate is the max number of deliveries per second.
	Rate float64 `json:"rate,omitempty" jsonschema:"minimum=0.1,maximum=10000,default=100"`
	// First makes a plan quick: it counts the newest events of the time range, up to this many. A resend ignores it.
	First int `json:"first,omitempty" jsonschema:"minimum=0,maximum=10000"`
}

// ReadResend parses the body of a request for a resend or its plan.
func ReadResend(c *fiber.Ctx) (body ResendRequest, err error) {
	if err := httpapi.ReadChange(c, &body); err != nil {
		return body, err
	}
	switch {
	case body.Subscription == "":
		return body, httpapi.MissingField("subscription")
	case body.Since.IsZero():
		return body, httpapi.MissingField("since")
	}
	if body.Until.IsZero() {
		body.Until = time.Now()
	}
	if err := httpapi.CheckPeriod(httpapi.CodeBadField, body.Since, body.Until); err != nil {
		return body, err
	}
	if body.First < 0 || body.First > httpapi.MaxFirst {
		return body, httpapi.BadField("first")
	}
	body.Rate, err = httpapi.Rate(body.Rate, operation.KindResend)
	return body, err
}

func (o *API) planResend(c *fiber.Ctx) error {
	body, err := ReadResend(c)
	if err != nil {
		return err
	}
	return httpapi.RespondWith(c, func(ctx context.Context) (operation.ResendPlan, error) {
		return o.Resends.Plan(ctx, body.Subscription, body.Since, body.Until, body.First)
	})
}

// StartResend starts the resend that a request asks for.
func (o *API) StartResend(c *fiber.Ctx) (started operation.Resend, err error) {
	body, err := ReadResend(c)
	if err != nil {
		return started, err
	}
	s, err := o.Subscriptions.Subscription(httpapi.RequestContext(c), body.Subscription)
	if err != nil {
		return started, err
	}
	return httpapi.StartOperation(c, o.Resends, operation.Resend{
		Base: operation.New(body.Rate), SubscriptionID: s.ID, Subscription: s.Name, Everything: body.Everything,
		Imported: body.Imported, Since: body.Since, Until: body.Until,
	}, body.Reason)
}
