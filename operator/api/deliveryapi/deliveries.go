package deliveryapi

import (
	"context"
	"slices"
	"strings"

	"github.com/gofiber/fiber/v2"
	"github.com/google/uuid"

	"holdfast/delivery"
	"holdfast/event"
	"holdfast/event/oversight"
	"holdfast/operator/httpapi"
)

// DeliveryView is a delivery as the caller may see it. A response can repeat what was sent, so viewers don't see it.
type DeliveryView struct {
	delivery.Delivery

	// Answer is the beginning of the last response as text; not for viewers.
	Answer string `json:"answer,omitempty"`
}

// ViewDelivery returns a delivery as the caller of a request may see it.
func ViewDelivery(c *fiber.Ctx, d delivery.Delivery) DeliveryView { return viewDelivery(c)(d) }

func viewDelivery(c *fiber.Ctx) func(delivery.Delivery) DeliveryView {
	if httpapi.IsViewer(c) {
		return func(d delivery.Delivery) DeliveryView { return DeliveryView{Delivery: d} }
	}
	return WholeDelivery
}

// WholeDelivery returns a delivery with its response.
func WholeDelivery(d delivery.Delivery) DeliveryView {
	return DeliveryView{Delivery: d, Answer: textOf(d.Answer)}
}

// AttemptView is an attempt as the caller may see it.
type AttemptView struct {
	delivery.Attempt

	// Answer is the beginning of the response as text; not for viewers.
	Answer string `json:"answer,omitempty"`
}

func viewAttempt(viewer bool, a delivery.Attempt) AttemptView {
	if viewer {
		return AttemptView{Attempt: a}
	}
	return wholeAttempt(a)
}

// wholeAttempt returns an attempt with its response.
func wholeAttempt(a delivery.Attempt) AttemptView {
	return AttemptView{Attempt: a, Answer: textOf(a.Answer)}
}

// textOf returns the beginning of a response as text, with U+FFFD for invalid UTF-8.
func textOf(answer []byte) string { return strings.ToValidUTF8(string(answer), "�") }

func isUUID(id string) bool { return len(id) == 36 && uuid.Validate(id) == nil }

// StatusOf summarizes the statuses of an event's deliveries. It is pending before the event is processed, and "" for a dead
// event, which no subscription was matched with.
func StatusOf(status event.Status, all []delivery.Delivery) delivery.Status {
	var statuses []delivery.Status
	for _, d := range all {
		statuses = append(statuses, d.Status)
	}
	switch {
	case len(all) > 0 || status == event.StatusProcessed:
		return delivery.Summary(statuses)
	case status == event.StatusDead:
		return ""
	}
	return delivery.Pending
}

// Attempts lists an event's delivery attempts as the caller of a request may see them.
func (o *API) Attempts(c *fiber.Ctx, eventID string) (list httpapi.List[AttemptView], err error) {
	all, err := o.Deliveries.AttemptsOf(httpapi.RequestContext(c), eventID)
	return httpapi.List[AttemptView]{Items: attemptsOf(httpapi.IsViewer(c), all, 0)}, err
}

// attemptsOf returns the attempts for one subscription, or for all if it is 0.
func attemptsOf(viewer bool, all []delivery.Attempt, subscription int64) []AttemptView {
	shown := make([]AttemptView, 0, len(all))
	for _, a := range all {
		if subscription == 0 || a.SubscriptionID == subscription {
			shown = append(shown, viewAttempt(viewer, a))
		}
	}
	return shown
}

// selection names a group of statuses.
type selection string

const (
	selectOpen        selection = "open"
	selectUndelivered selection = "undelivered"
)

var (
	deliveryKey = []httpapi.Parameter{
		httpapi.UUIDParameter("id", "ID of the event."),
		httpapi.TextParameter("subscription", "Name or number of the subscription."),
	}
	deliveryParameters = []httpapi.Parameter{
		httpapi.UUIDParameter("event_id", "Deliveries of one event."),
		httpapi.TextParameter("subscription", "Name or number of the subscription."),
		httpapi.TextParameter("destination", "Name or number of the destination."),
		httpapi.ChoiceParameter("status", "Status of the delivery.", delivery.Statuses()),
		httpapi.ChoiceParameter("only", "open: pending, processing or retrying. undelivered: also failed.",
			[]selection{selectOpen, selectUndelivered}),
		httpapi.TimeParameter("since", "Accepted at or after"),
		httpapi.TimeParameter("until", "Accepted before"),
		httpapi.LimitParameter, httpapi.CursorParameter,
	}
)

func (o *API) deliveryRoutes() []httpapi.Route {
	const one = "/deliveries/:id/:subscription"
	return []httpapi.Route{
		httpapi.Get("listDeliveries", "/deliveries", "Deliveries, newest event first", o.listDeliveries).
			With(deliveryParameters...).Returns(fiber.StatusOK, httpapi.List[DeliveryView]{}),
		httpapi.Post("cancelDeliveries", "/deliveries/cancel", "Cancel pending and retrying deliveries, oldest events first",
			o.cancelDeliveries).
			Explain("Cancels up to 10,000 deliveries, and none that is in flight.").
			Takes(CancelRequest{}).Returns(fiber.StatusOK, Canceled{}),
		httpapi.Get("showDelivery", one, "Delivery of one event to one subscription, with its attempts", o.showDelivery).
			With(deliveryKey...).Returns(fiber.StatusOK, DeliveryDetail{}),
		httpapi.Post("resendDelivery", one+"/resend", "Send a processed event to a subscription, with a new ID", o.resendDelivery).
			Explain("Whatever the status of its delivery is, also if the subscription doesn't select it. With missing, only if the "+
				"subscription selects it and it has no delivery; otherwise sent is false.").
			With(deliveryKey...).MayTake(deliveryResend{}).Returns(fiber.StatusOK, Resent{}),
		httpapi.Post("cancelDelivery", one+"/cancel", "Cancel a pending or retrying delivery, or discard a failed one",
			o.changeDelivery(o.Deliveries.CancelDelivery)).
			With(deliveryKey...).MayTake(httpapi.Reasoned{}).Returns(fiber.StatusOK, DeliveryView{}),
		httpapi.Post("skipDelivery", one+"/skip", "Move the head of an ordered key to the end of the key",
			o.changeDelivery(o.Deliveries.SkipHead)).
			With(deliveryKey...).MayTake(httpapi.Reasoned{}).Returns(fiber.StatusOK, DeliveryView{}),
		httpapi.Post("pauseDelivery", one+"/pause", "Pause an ordered key at its head",
			o.changeDelivery(o.Deliveries.PauseHead)).
			With(deliveryKey...).MayTake(httpapi.Reasoned{}).Returns(fiber.StatusOK, DeliveryView{}),
		httpapi.Post("resumeDelivery", one+"/resume", "Attempt the head of an ordered key now, also if the key is paused",
			o.changeDelivery(o.Deliveries.ResumeHead)).
			With(deliveryKey...).MayTake(httpapi.Reasoned{}).Returns(fiber.StatusOK, DeliveryView{}),
	}
}

func (o *API) listDeliveries(c *fiber.Ctx) error {
	return httpapi.Respond(c, o.ListDeliveries)
}

// DeliveryQuery parses the filters of a list of deliveries. It returns event.ErrNotFound for an unknown subscription or
// destination.
func (o *API) DeliveryQuery(c *fiber.Ctx) (delivery.Query, error) {
	q := httpapi.QueryOf(c, deliveryParameters...)
	only := httpapi.Choose(q, "only", []selection{selectOpen, selectUndelivered})
	wanted := delivery.Query{
		EventID: q.Text("event_id"), Status: httpapi.Choose(q, "status", delivery.Statuses()),
		Open: only == selectOpen, Undelivered: only == selectUndelivered, Limit: q.Limit(),
	}
	if wanted.EventID != "" && !isUUID(wanted.EventID) {
		q.Refuse("event_id")
	}
	if only != "" && wanted.Status != "" {
		q.Refuse("only") // a status already selects
	}
	wanted.Since, wanted.Until = q.Period()
	wanted.Before = httpapi.CursorOf(q, func(k delivery.Key) bool { return isUUID(k.EventID) && k.SubscriptionID > 0 })
	if q.Err != nil {
		return wanted, q.Err
	}
	err := o.resolve(httpapi.RequestContext(c), q.Text("subscription"), q.Text("destination"), &wanted)
	return wanted, err
}

// ListDeliveries returns the page of deliveries that a request asks for, the newest event first.
func (o *API) ListDeliveries(c *fiber.Ctx) (list httpapi.List[DeliveryView], err error) {
	wanted, err := o.DeliveryQuery(c)
	if err != nil {
		return list, err
	}
	return o.DeliveryPage(c, wanted)
}

// DeliveryPage returns a page of deliveries, the newest event first, as the caller of a request may see them.
func (o *API) DeliveryPage(c *fiber.Ctx, wanted delivery.Query) (list httpapi.List[DeliveryView], err error) {
	limit := wanted.Limit
	wanted.Limit++ // one more shows whether there is a next page
	rows, err := o.Deliveries.Deliveries(httpapi.RequestContext(c), wanted)
	return httpapi.NewPage(rows, limit, viewDelivery(c), func(d delivery.Delivery) delivery.Key {
		return delivery.Key{EventID: d.EventID, SubscriptionID: d.SubscriptionID}
	}), err
}

// resolve resolves the names in a query to IDs; "" doesn't restrict it.
func (o *API) resolve(ctx context.Context, subscription, destination string, wanted *delivery.Query) error {
	if subscription != "" {
		s, err := o.Subscriptions.Subscription(ctx, subscription)
		if err != nil {
			return err
		}
		wanted.SubscriptionID = s.ID
	}
	if destination != "" {
		d, err := o.Destinations.Destination(ctx, destination)
		if err != nil {
			return err
		}
		wanted.DestinationID = d.ID
	}
	return nil
}

// keyOf returns the delivery in the path: an event and a subscription.
func (o *API) keyOf(ctx context.Context, c *fiber.Ctx) (k delivery.Key, err error) {
	if k.EventID, err = httpapi.PathUUID(c); err != nil {
		return k, err
	}
	name, err := httpapi.PathText(c, "subscription")
	if err != nil {
		return k, err
	}
	s, err := o.Subscriptions.Subscription(ctx, name)
	k.SubscriptionID = s.ID
	return k, err
}

func (o *API) showDelivery(c *fiber.Ctx) error {
	if q := httpapi.QueryOf(c); q.Err != nil {
		return q.Err
	}
	ctx := httpapi.RequestContext(c)
	k, err := o.keyOf(ctx, c)
	if err != nil {
		return err
	}
	return httpapi.RespondWith(c, func(ctx context.Context) (DeliveryDetail, error) {
		return o.Detail(ctx, k, httpapi.IsViewer(c))
	})
}

// DeliveryDetail is a delivery with its attempts.
type DeliveryDetail struct {
	DeliveryView

	// Log lists the attempts, oldest first.
	Log []AttemptView `json:"log"`
}

// Detail returns a delivery as a viewer, or a role above, may see it; event.ErrNotFound if there is none.
func (o *API) Detail(ctx context.Context, k delivery.Key, viewer bool) (detail DeliveryDetail, err error) {
	all, err := o.Deliveries.DeliveriesOf(ctx, k.EventID)
	if err != nil {
		return detail, err
	}
	i := slices.IndexFunc(all, func(d delivery.Delivery) bool { return d.SubscriptionID == k.SubscriptionID })
	if i < 0 {
		return detail, event.ErrNotFound
	}
	attempts, err := o.Deliveries.AttemptsOf(ctx, k.EventID)
	detail.Log, detail.DeliveryView = attemptsOf(viewer, attempts, k.SubscriptionID), DeliveryView{Delivery: all[i]}
	if !viewer {
		detail.DeliveryView = WholeDelivery(all[i])
	}
	return detail, err
}

func (o *API) changeDelivery(
	change func(context.Context, delivery.Key, oversight.Actor) (delivery.Delivery, error),
) fiber.Handler {
	return func(c *fiber.Ctx) error {
		var body httpapi.Reasoned
		if err := httpapi.ReadChange(c, &body); err != nil {
			return err
		}
		ctx := httpapi.RequestContext(c)
		k, err := o.keyOf(ctx, c)
		if err != nil {
			return err
		}
		d, err := change(ctx, k, httpapi.Actor(c, body.Reason))
		if err != nil {
			return err
		}
		return c.JSON(viewDelivery(c)(d))
	}
}
