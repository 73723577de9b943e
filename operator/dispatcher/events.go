package dispatcher

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"time"

	"github.com/gofiber/fiber/v2"

	"holdfast/delivery"
	"holdfast/event"
	"holdfast/operator/api"
	"holdfast/operator/api/deliveryapi"
	"holdfast/operator/httpapi"
)

// eventView is an event in the dispatcher's format: one row for all of its deliveries.
type eventView struct {
	ID string `json:"id"`
	// EventID is Holdfast's ID, which destinations get as holdfast-event-id.
	EventID string          `json:"event_id"`
	Type    string          `json:"type"`
	Source  string          `json:"source,omitempty"`
	Data    json.RawMessage `json:"data,omitempty"`
	// Status is pending, processing, retrying, delivered or failed.
	Status delivery.Status `json:"status"`
	// Attempts and MaxAttempts belong to the delivery with the most attempts.
	Attempts      int        `json:"attempts"`
	MaxAttempts   int        `json:"max_attempts"`
	NextAttemptAt *time.Time `json:"next_attempt_at,omitempty"`
	LastError     string     `json:"last_error,omitempty"`
	CreatedAt     time.Time  `json:"created_at"`
	UpdatedAt     time.Time  `json:"updated_at"`
	DeliveredAt   *time.Time `json:"delivered_at,omitempty"`
}

func (s *Server) showEvent(c *fiber.Ctx) error {
	found, err := s.event(c)
	if err != nil {
		return err
	}
	ctx := httpapi.RequestContext(c)
	attempts, err := s.API.Outbound.Deliveries.AttemptsOf(ctx, found.ID)
	if err != nil {
		return err
	}
	own, err := s.own(ctx)
	if err != nil {
		return err
	}
	attempts = slices.DeleteFunc(attempts, func(a delivery.Attempt) bool { return !own[a.Subscription] })
	found.Deliveries = slices.DeleteFunc(found.Deliveries, func(d deliveryapi.DeliveryView) bool { return !own[d.Subscription] })
	var deliveries []delivery.Delivery
	for _, d := range found.Deliveries {
		deliveries = append(deliveries, d.Delivery)
	}
	found.DeliveryStatus = deliveryapi.StatusOf(found.Status, deliveries)
	most, err := s.maxAttempts(ctx, found)
	if err != nil {
		return err
	}
	return c.JSON(viewEvent(found, attempts, most))
}

// maxAttempts returns the highest maximum among the policies of its destinations, or the dispatcher's before there are any.
func (s *Server) maxAttempts(ctx context.Context, e api.EventDetail) (most int, err error) {
	var ids []int64
	for _, d := range e.Deliveries {
		ids = append(ids, d.DestinationID)
	}
	if len(ids) > 0 {
		to, err := s.API.Outbound.Destinations.DestinationsOf(ctx, ids)
		if err != nil {
			return 0, err
		}
		for _, d := range to {
			most = max(most, d.Policy().Attempts)
		}
	}
	return cmp.Or(most, delivery.DispatcherRetry().Attempts), nil
}

func viewEvent(e api.EventDetail, attempts []delivery.Attempt, maxAttempts int) eventView {
	said, _ := readPublished(e.Body.JSON) // an unparsable event is a dead letter
	view := eventView{
		ID: cmp.Or(said.ID, e.ID), EventID: e.ID, Type: cmp.Or(said.Type, e.Type), Source: said.Source, Data: said.Data,
		Status: statusOf(e), MaxAttempts: maxAttempts,
		CreatedAt: e.ReceivedAt, UpdatedAt: e.ReceivedAt,
	}
	if e.Receipt.Imported != nil {
		view.Attempts = e.Receipt.Imported.Attempts
	}
	if e.ProcessedAt != nil {
		view.UpdatedAt = later(view.UpdatedAt, *e.ProcessedAt)
	}
	view.addDeliveries(e)
	for _, a := range attempts {
		view.UpdatedAt = later(view.UpdatedAt, a.At)
		if !a.OK {
			view.LastError = cmp.Or(a.Error, a.Code)
		}
	}
	if e.Status == event.StatusDead && len(e.DeadLetters) > 0 {
		view.LastError = cmp.Or(e.DeadLetters[0].Failure.Message, e.DeadLetters[0].Failure.Code)
		view.UpdatedAt = later(view.UpdatedAt, e.DeadLetters[0].LastFailed)
	}
	return view
}

// statusOf returns failed for an event that can't be processed: the dispatcher's format has no status of its own for it.
func statusOf(e api.EventDetail) delivery.Status {
	if e.Status == event.StatusDead {
		return cmp.Or(e.DeliveryStatus, delivery.Failed)
	}
	return cmp.Or(e.DeliveryStatus, delivery.Pending)
}

func (v *eventView) addDeliveries(e api.EventDetail) {
	for _, d := range e.Deliveries {
		v.Attempts = max(v.Attempts, d.Attempts)
		if d.DueAt != nil && (v.NextAttemptAt == nil || d.DueAt.Before(*v.NextAttemptAt)) {
			v.NextAttemptAt = d.DueAt
		}
		if d.DoneAt != nil {
			v.UpdatedAt = later(v.UpdatedAt, *d.DoneAt)
			if v.Status == delivery.Delivered && (v.DeliveredAt == nil || d.DoneAt.After(*v.DeliveredAt)) {
				v.DeliveredAt = d.DoneAt
			}
		}
	}
	if v.Status == delivery.Delivered && v.DeliveredAt == nil {
		v.DeliveredAt = e.ProcessedAt
	}
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// attemptView is an attempt in the dispatcher's format.
type attemptView struct {
	ID            string    `json:"id"`
	EventID       string    `json:"event_id"`
	Subscription  string    `json:"subscription_id"`
	AttemptNumber int       `json:"attempt_number"`
	StatusCode    int       `json:"status_code,omitempty"`
	ResponseBody  string    `json:"response_body,omitempty"`
	Error         string    `json:"error,omitempty"`
	DurationMS    int       `json:"duration_ms"`
	CreatedAt     time.Time `json:"created_at"`
}

func (s *Server) listAttempts(c *fiber.Ctx) error {
	found, err := s.event(c)
	if err != nil {
		return err
	}
	list, err := s.API.Outbound.Attempts(c, found.ID)
	if err != nil {
		return err
	}
	own, err := s.own(httpapi.RequestContext(c))
	if err != nil {
		return err
	}
	all := make([]attemptView, 0, len(list.Items))
	for _, a := range list.Items {
		if own[a.Subscription] {
			all = append(all, viewAttempt(c.Params("id"), a))
		}
	}
	return c.JSON(all)
}

func viewAttempt(eventID string, a deliveryapi.AttemptView) attemptView {
	status, err := strconv.Atoi(a.Code)
	text := a.Error
	if err != nil && !a.OK { // there was no response
		text = cmp.Or(text, a.Code)
	}
	return attemptView{
		ID: a.ID() + "-" + strconv.Itoa(a.Number), EventID: eventID, Subscription: a.Subscription,
		AttemptNumber: a.Number, StatusCode: status, ResponseBody: a.Answer, Error: text, DurationMS: a.MS, CreatedAt: a.At,
	}
}
