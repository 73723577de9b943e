package outgoing

import (
	"slices"
	"time"

	"github.com/gofiber/fiber/v2"

	"holdfast/delivery"
	"holdfast/operator/exchange"
)

// cancelRequest is the body of a request to cancel deliveries that wait. One of the first three is required.
type cancelRequest struct {
	exchange.Reasoned

	Subscription string          `json:"subscription"`
	Destination  string          `json:"destination"`
	EventID      string          `json:"event_id"`
	Status       delivery.Status `json:"status"`
	Since        time.Time       `json:"since"`
	Until        time.Time       `json:"until"`
	// DryRun counts, and cancels nothing.
	DryRun bool `json:"dry_run"`
	// Count is what was counted: no more are canceled. Nil is no such bound.
	Count *int64 `json:"count"`
}

// Canceled is what a request to cancel deliveries has come to.
type Canceled struct {
	// Waiting counts the deliveries that matched, up to delivery.MaxCanceled; AtLeast reports that there are more.
	Waiting int64 `json:"waiting"`
	AtLeast bool  `json:"at_least,omitempty"`
	// Canceled counts those that were canceled; a dry run cancels none.
	Canceled int64 `json:"canceled"`
	// Until bounds when the event was accepted: what came later was neither counted nor canceled.
	Until time.Time `json:"until"`
}

// NewCanceled is the result of a count.
func NewCanceled(n int64, until time.Time) Canceled {
	return Canceled{Waiting: min(n, delivery.MaxCanceled), AtLeast: n > delivery.MaxCanceled, Until: until.UTC()}
}

func (o *API) cancelDeliveries(c *fiber.Ctx) error {
	var body cancelRequest
	if err := exchange.ReadChange(c, &body); err != nil {
		return err
	}
	wanted, err := o.cancelQuery(c, body)
	if err != nil {
		return err
	}
	found, err := o.CountCancelable(c, &wanted)
	if err != nil || body.DryRun {
		return answerOr(c, found, err)
	}
	most := found.Waiting
	if body.Count != nil {
		most = *body.Count
	}
	if found.Canceled, err = o.CancelWaiting(c, wanted, most, body.Reason); found.Canceled > 0 {
		err = nil // fewer than were counted: whoever repeats the request gets the rest, or the error
	}
	return answerOr(c, found, err)
}

func answerOr(c *fiber.Ctx, body any, err error) error {
	if err != nil {
		return err
	}
	return c.JSON(body)
}

func (o *API) cancelQuery(c *fiber.Ctx, body cancelRequest) (q delivery.Query, err error) {
	q = delivery.Query{EventID: body.EventID, Status: body.Status, Since: body.Since, Until: body.Until}
	switch {
	case body.EventID != "" && !isUUID(body.EventID):
		return q, exchange.BadField("event_id")
	case body.Status != "" && !slices.Contains(WaitingStatuses(), body.Status):
		return q, exchange.BadField("status")
	case !body.Since.IsZero() && !exchange.IsStorable(body.Since):
		return q, exchange.BadField("since")
	case !body.Until.IsZero() && !exchange.IsStorable(body.Until), !exchange.HoldsTime(body.Since, body.Until):
		return q, exchange.BadField("until")
	case body.Count != nil && *body.Count < 0:
		return q, exchange.BadField("count")
	}
	ctx, cancel := exchange.Within(c)
	defer cancel()
	err = o.resolve(ctx, body.Subscription, body.Destination, &q)
	return q, err
}

// WaitingStatuses are those of a delivery that waits.
func WaitingStatuses() []delivery.Status {
	return []delivery.Status{delivery.Pending, delivery.Retrying}
}

// CountCancelable counts what CancelWaiting would cancel. A query that isn't bounded in time is bounded to now, so that a later
// CancelWaiting leaves out what comes meanwhile.
func (o *API) CountCancelable(c *fiber.Ctx, q *delivery.Query) (found Canceled, err error) {
	if err := checkCancelable(*q); err != nil {
		return found, err
	}
	if q.Until.IsZero() {
		q.Until = time.Now()
	}
	ctx, cancel := exchange.Within(c)
	defer cancel()
	n, err := o.Deliveries.CountCancelable(ctx, *q)
	return NewCanceled(n, q.Until), err
}

// CancelWaiting cancels the deliveries of a query that wait: at most as many as are given, the oldest events first.
func (o *API) CancelWaiting(c *fiber.Ctx, q delivery.Query, most int64, reason string) (canceled int64, err error) {
	if err := checkCancelable(q); err != nil {
		return 0, err
	}
	ctx, cancel := exchange.Within(c)
	defer cancel()
	return o.Deliveries.CancelWaiting(ctx, q, most, exchange.Actor(c, reason))
}

// checkCancelable refuses a query that names nothing: it would cancel the deliveries of everybody.
func checkCancelable(q delivery.Query) error {
	if q.EventID == "" && q.SubscriptionID == 0 && q.DestinationID == 0 {
		return &exchange.RefusalError{
			Code: exchange.CodeMissingField, Field: "destination", Detail: "name a destination, a subscription or an event",
		}
	}
	return nil
}
