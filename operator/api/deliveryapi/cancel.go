package deliveryapi

import (
	"slices"
	"time"

	"github.com/gofiber/fiber/v2"

	"holdfast/delivery"
	"holdfast/operator/httpapi"
)

// CancelRequest is the body of a request to cancel waiting deliveries. One of the first three fields is required.
type CancelRequest struct {
	httpapi.Reasoned

	// Subscription is a name or a number. One of Subscription, Destination and EventID is required.
	Subscription string `json:"subscription,omitempty" jsonschema:"anyof_required=subscription"`
	// Destination is a name or a number.
	Destination string `json:"destination,omitempty" jsonschema:"anyof_required=destination"`
	// EventID is the ID of an event.
	EventID string `json:"event_id,omitempty" jsonschema:"format=uuid,anyof_required=event_id"`
	// Status selects deliveries by status.
	Status delivery.Status `json:"status,omitempty" jsonschema:"enum=pending,enum=retrying"`
	// Since selects events that were accepted at or after this time.
	Since time.Time `json:"since,omitzero"`
	// Until selects events that were accepted before this time; now by default.
	Until time.Time `json:"until,omitzero"`
	// DryRun counts without canceling.
	DryRun bool `json:"dry_run,omitempty"`
	// Count is the result of a dry run, sent with its until. It caps how many deliveries are canceled.
	Count *int64 `json:"count,omitempty" jsonschema:"minimum=0"`
}

// Canceled is the result of a request to cancel deliveries.
type Canceled struct {
	// Waiting counts the deliveries that matched, up to 10,000.
	Waiting int64 `json:"waiting"`
	// AtLeast reports that more deliveries matched: repeat the request.
	AtLeast bool `json:"at_least,omitempty"`
	// Canceled counts the canceled deliveries; 0 for a dry run.
	Canceled int64 `json:"canceled"`
	// Until bounds when events were accepted: deliveries of later events were neither counted nor canceled.
	Until time.Time `json:"until"`
}

// NewCanceled returns the result of a count.
func NewCanceled(n int64, until time.Time) Canceled {
	return Canceled{Waiting: min(n, delivery.MaxCanceled), AtLeast: n > delivery.MaxCanceled, Until: until.UTC()}
}

func (o *API) cancelDeliveries(c *fiber.Ctx) error {
	var body CancelRequest
	if err := httpapi.ReadChange(c, &body); err != nil {
		return err
	}
	wanted, err := o.cancelQuery(c, body)
	if err != nil {
		return err
	}
	found, err := o.CountCancelable(c, &wanted)
	if err != nil {
		return err
	}
	if body.DryRun {
		return c.JSON(found)
	}
	most := found.Waiting
	if body.Count != nil {
		most = *body.Count
	}
	found.Canceled, err = o.CancelWaiting(c, wanted, most, body.Reason)
	if err != nil && found.Canceled == 0 {
		return err
	}
	return c.JSON(found) // if there are fewer than counted, a repeated request cancels the rest or returns the error
}

func (o *API) cancelQuery(c *fiber.Ctx, body CancelRequest) (q delivery.Query, err error) {
	q = delivery.Query{EventID: body.EventID, Status: body.Status, Since: body.Since, Until: body.Until}
	switch {
	case body.EventID != "" && !isUUID(body.EventID):
		return q, httpapi.BadField("event_id")
	case body.Status != "" && !slices.Contains(WaitingStatuses(), body.Status):
		return q, httpapi.BadField("status")
	case body.Count != nil && *body.Count < 0:
		return q, httpapi.BadField("count")
	}
	if err := httpapi.CheckPeriod(httpapi.CodeBadField, body.Since, body.Until); err != nil {
		return q, err
	}
	err = o.resolve(httpapi.RequestContext(c), body.Subscription, body.Destination, &q)
	return q, err
}

// WaitingStatuses returns the statuses of waiting deliveries.
func WaitingStatuses() []delivery.Status {
	return []delivery.Status{delivery.Pending, delivery.Retrying}
}

// CountCancelable counts what CancelWaiting would cancel. It bounds a query without an end to now, so that a later CancelWaiting
// leaves out newer events.
func (o *API) CountCancelable(c *fiber.Ctx, q *delivery.Query) (found Canceled, err error) {
	if err := checkCancelable(*q); err != nil {
		return found, err
	}
	if q.Until.IsZero() {
		q.Until = time.Now()
	}
	n, err := o.Deliveries.CountCancelable(httpapi.RequestContext(c), *q)
	return NewCanceled(n, q.Until), err
}

// CancelWaiting cancels the waiting deliveries that match a query, oldest events first, up to the given number.
func (o *API) CancelWaiting(c *fiber.Ctx, q delivery.Query, most int64, reason string) (canceled int64, err error) {
	if err := checkCancelable(q); err != nil {
		return 0, err
	}
	return o.Deliveries.CancelWaiting(httpapi.RequestContext(c), q, most, httpapi.Actor(c, reason))
}

// checkCancelable refuses a query without filters, which would cancel all deliveries.
func checkCancelable(q delivery.Query) error {
	if q.EventID == "" && q.SubscriptionID == 0 && q.DestinationID == 0 {
		return &httpapi.RefusalError{
			Code: httpapi.CodeMissingField, Field: "destination", Detail: "name a destination, a subscription or an event",
		}
	}
	return nil
}
