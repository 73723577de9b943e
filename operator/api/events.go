package api

import (
	"context"
	"errors"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/google/uuid"

	"holdfast/delivery"
	"holdfast/event"
	"holdfast/event/oversight"
	"holdfast/operator/api/deliveryapi"
	"holdfast/operator/httpapi"
)

// EventView is a stored event in a list.
type EventView struct {
	ID                string        `json:"id"`
	Provider          string        `json:"provider"`
	Source            string        `json:"source,omitempty"`
	Key               string        `json:"key"`
	Type              string        `json:"type"`
	Status            event.Status  `json:"status"`
	Outcome           event.Outcome `json:"outcome,omitempty"`
	OccurredAt        time.Time     `json:"occurred_at"`
	OccurredAtMissing bool          `json:"occurred_at_missing,omitempty"`
	ReceivedAt        time.Time     `json:"received_at"`
	PersistedAt       time.Time     `json:"persisted_at,omitzero"`
	ProcessedAt       *time.Time    `json:"processed_at,omitempty"`
	Run               event.Run     `json:"run"`
	Replaces          string        `json:"replaces,omitempty"`
	// PossibleDuplicateOf is the ID of the first event with the same content, if the key is guessed.
	PossibleDuplicateOf string `json:"possible_duplicate_of,omitempty"`
	// DeliveryStatus summarizes the event's deliveries. In lists it is empty for events that no subscription matches.
	DeliveryStatus delivery.Status `json:"delivery_status,omitempty"`
}

// ViewEvent converts a stored event for lists.
func ViewEvent(r event.Record) EventView {
	return EventView{
		ID: r.Receipt.ID, Provider: r.Receipt.Provider, Source: r.Receipt.Source, Key: r.Receipt.Key, Type: r.Type,
		Status: r.Status, Outcome: r.Outcome, OccurredAt: r.OccurredAt, OccurredAtMissing: r.OccurredAtMissing,
		ReceivedAt: r.Receipt.ReceivedAt, PersistedAt: r.PersistedAt, ProcessedAt: r.ProcessedAt, Run: r.Run,
		Replaces: r.Receipt.Replaces, PossibleDuplicateOf: r.PossibleDuplicateOf,
	}
}

// EventDetail is one event with everything recorded about it.
type EventDetail struct {
	EventView

	Receipt     event.Receipt `json:"receipt"`
	Body        Content       `json:"body"`
	PayloadNote string        `json:"payload_note,omitempty"`
	// Wait is set for an event without a row.
	Wait *Wait `json:"wait,omitempty"`
	// TemporalWeb is the URL of its run.
	TemporalWeb string `json:"temporal_web,omitempty"`
	// Decision is an operator's decision about the event.
	Decision *event.Decision `json:"decision,omitempty"`
	Entities []Change        `json:"entities"`
	// Attempts are the errors of its steps, overcome or not, latest first, up to maxAttempts.
	Attempts    []oversight.ErrorEntry     `json:"attempts"`
	DeadLetters []DeadLetterView           `json:"dead_letters"`
	Deliveries  []deliveryapi.DeliveryView `json:"deliveries,omitempty"`
	// Duplicates counts its redeliveries; nil if there were none.
	Duplicates *event.Duplicates `json:"duplicates,omitempty"`
}

// maxAttempts bounds the errors shown for an event that has failed for a long time.
const maxAttempts = 100

// statusWaiting is the status of an event in the inbox, which has no row yet.
const statusWaiting event.Status = "waiting"

type idCursor struct {
	ID string `json:"id"`
}

func (a *API) listEvents(c *fiber.Ctx) error {
	return httpapi.RespondList(c, a.EventQuery, a.ListEvents)
}

// EventQuery parses the query of a list of events.
func (a *API) EventQuery(c *fiber.Ctx) (event.RecordQuery, error) {
	q := httpapi.QueryOf(c, "provider", "source", "type", "status", "key", "entity_kind", "entity_id", "since", "until", "text",
		"possible_duplicate", "delivery_status", "limit", "cursor")
	wanted := event.RecordQuery{
		Provider: q.Text("provider"), Source: q.Source(), Type: q.Text("type"), Key: q.Text("key"), Text: q.Text("text"),
		Status:             httpapi.Choose(q, "status", event.Statuses()),
		PossibleDuplicates: httpapi.Choose(q, "possible_duplicate", []string{"true"}) != "",
		DeliveryStatus:     string(httpapi.Choose(q, "delivery_status", delivery.Statuses())),
		Limit:              q.Limit(),
	}
	wanted.Since, wanted.Until = q.Period()
	kind, id := q.Text("entity_kind"), q.Text("entity_id")
	if kind != "" || id != "" {
		if wanted.Provider == "" || kind == "" || id == "" {
			q.Refuse("entity_id") // an entity needs all three
		}
		wanted.Entity = &event.EntityRef{Provider: wanted.Provider, Kind: kind, ExternalID: id}
	}
	if place := httpapi.CursorOf(q, func(c idCursor) bool { return uuid.Validate(c.ID) == nil }); place != nil {
		wanted.Before = place.ID
	}
	if wanted.Text != "" && httpapi.IsViewer(c) && q.Err == nil {
		return wanted, httpapi.Refuse(httpapi.CodeForbidden) // the search would reveal what is in a body
	}
	return wanted, q.Err
}

// ListEvents returns one page of the matching stored events. In a text search, a page that isn't full still has a next one while
// events remain unchecked.
func (a *API) ListEvents(ctx context.Context, q event.RecordQuery) (list httpapi.List[EventView], err error) {
	ctx, cancel := context.WithTimeout(ctx, httpapi.Timeout)
	defer cancel()
	if q.Text != "" {
		found, err := a.Events.SearchEvents(ctx, q)
		if err != nil {
			return list, err
		}
		list = httpapi.NewPage(found.Records, q.Limit, ViewEvent, func(r event.Record) idCursor { return idCursor{r.Receipt.ID} })
		list.ContinueAt(found.SearchedTo != "", idCursor{found.SearchedTo})
		return list, a.addStatuses(ctx, list.Items)
	}
	q.Limit++ // one more shows whether there is a next page
	rows, note, err := a.FindEvents(ctx, q)
	if err != nil {
		return list, err
	}
	list = httpapi.NewPage(rows, q.Limit-1, ViewEvent, func(r event.Record) idCursor { return idCursor{r.Receipt.ID} })
	list.Note = note
	return list, a.addStatuses(ctx, list.Items)
}

// StoredEvents returns one page of the matching stored events as views for lists.
func (a *API) StoredEvents(ctx context.Context, q event.RecordQuery) ([]EventView, error) {
	rows, err := a.Events.Events(ctx, q)
	if err != nil {
		return nil, err
	}
	shown := make([]EventView, len(rows))
	for i, r := range rows {
		shown[i] = ViewEvent(r)
	}
	return shown, a.addStatuses(ctx, shown)
}

// addStatuses sets the delivery status of each event.
func (a *API) addStatuses(ctx context.Context, shown []EventView) error {
	if a.Outbound == nil {
		return nil
	}
	ids := make([]string, len(shown))
	for i, e := range shown {
		ids[i] = e.ID
	}
	statuses, err := a.Outbound.Deliveries.StatusesOf(ctx, ids)
	for i, e := range shown {
		shown[i].DeliveryStatus = statuses[e.ID]
	}
	return err
}

func (a *API) showEvent(c *fiber.Ctx) error {
	if q := httpapi.QueryOf(c); q.Err != nil {
		return q.Err
	}
	return httpapi.Respond(c, a.Event)
}

// Event returns the event in the request's path, with all details that its caller may see.
func (a *API) Event(c *fiber.Ctx) (detail EventDetail, err error) {
	ctx, cancel := httpapi.RequestContext(c)
	defer cancel()
	id, workflowID, err := a.pathEvent(ctx, c)
	if err != nil {
		return detail, err
	}
	return a.eventDetail(ctx, id, workflowID, httpapi.IsViewer(c))
}

// EventDetail returns all details of an event that a viewer, or a role above, may see.
func (a *API) EventDetail(ctx context.Context, id string, viewer bool) (EventDetail, error) {
	return a.eventDetail(ctx, id, "", viewer)
}

// LatestOfWorkflow returns EventDetail for the latest event of a workflow. It finds an event as soon as it is acknowledged.
func (a *API) LatestOfWorkflow(ctx context.Context, workflowID string, viewer bool) (detail EventDetail, err error) {
	id, err := a.EventOfWorkflow(ctx, workflowID)
	if err != nil {
		return detail, err
	}
	return a.eventDetail(ctx, id, workflowID, viewer)
}

func (a *API) eventDetail(ctx context.Context, id, workflowID string, viewer bool) (detail EventDetail, err error) {
	record, wait, err := a.known(ctx, id, workflowID)
	if err != nil {
		return detail, err
	}
	detail = EventDetail{
		EventView: ViewEvent(record), Wait: wait, Receipt: receipt(viewer, record.Receipt), PayloadNote: record.PayloadNote,
		Body: a.content(viewer, record.Receipt, record.Body), Entities: make([]Change, 0, len(record.Links)),
	}
	for _, l := range record.Links {
		detail.Entities = append(detail.Entities, a.change(viewer, l))
	}
	if a.WorkflowURL != nil && record.Run.WorkflowID != "" {
		detail.TemporalWeb = a.WorkflowURL(record.Run)
	}
	if err := a.addDecision(ctx, &detail); err != nil {
		return detail, err
	}
	if err := a.addFailures(ctx, &detail); err != nil {
		return detail, err
	}
	if err := a.addDuplicates(ctx, &detail); err != nil {
		return detail, err
	}
	err = a.addDeliveries(ctx, viewer, &detail)
	return detail, err
}

func (a *API) addDuplicates(ctx context.Context, detail *EventDetail) error {
	d, err := a.Events.Duplicates(ctx, detail.ID)
	if d.Times > 0 {
		detail.Duplicates = &d
	}
	return err
}

// pathEvent returns the ID of the event in the path, which may be given by its workflow ID: a redelivery of an expunged event is
// accepted but keeps no event ID. The workflow is "" if the path holds an event ID.
func (a *API) pathEvent(ctx context.Context, c *fiber.Ctx) (id, workflowID string, err error) {
	text, err := httpapi.PathText(c, "id")
	if err != nil {
		return "", "", err
	}
	if _, _, ok := event.SplitWorkflowID(text); ok {
		id, err = a.EventOfWorkflow(ctx, text)
		return id, text, err
	}
	id, err = httpapi.PathUUID(c)
	return id, "", err
}

// addDecision adds the operator's decision about the event.
func (a *API) addDecision(ctx context.Context, detail *EventDetail) error {
	decision, err := a.Events.Decision(ctx, detail.ID)
	if err == nil {
		detail.Decision = &decision
	}
	if errors.Is(err, event.ErrNotFound) {
		return nil
	}
	return err
}

func (a *API) addFailures(ctx context.Context, detail *EventDetail) error {
	detail.Attempts, detail.DeadLetters = []oversight.ErrorEntry{}, []DeadLetterView{}
	if a.Errors != nil {
		attempts, err := a.Errors.Errors(ctx, oversight.ErrorQuery{EventID: detail.ID, Limit: maxAttempts})
		if err != nil {
			return err
		}
		detail.Attempts = append(detail.Attempts, attempts...)
	}
	if a.DeadLetters == nil {
		return nil
	}
	letters, err := a.DeadLetters.DeadLetters(ctx, event.DeadLetterQuery{EventID: detail.ID, Limit: maxAttempts})
	for _, d := range letters {
		detail.DeadLetters = append(detail.DeadLetters, ViewDeadLetter(d))
	}
	return err
}

func (a *API) addDeliveries(ctx context.Context, viewer bool, detail *EventDetail) error {
	if a.Outbound == nil {
		return nil
	}
	all, err := a.Outbound.Deliveries.DeliveriesOf(ctx, detail.ID)
	if err != nil {
		return err
	}
	detail.DeliveryStatus, detail.Deliveries = deliveryapi.StatusOf(detail.Status, all), []deliveryapi.DeliveryView{}
	for _, d := range all {
		view := deliveryapi.WholeDelivery(d)
		if viewer {
			view.Answer = ""
		}
		detail.Deliveries = append(detail.Deliveries, view)
	}
	return nil
}

func (a *API) listAttempts(c *fiber.Ctx) error {
	if q := httpapi.QueryOf(c); q.Err != nil {
		return q.Err
	}
	return httpapi.Respond(c, a.attempts)
}

// attempts lists the delivery attempts of the event in the path. If there are none, it checks that the event exists.
func (a *API) attempts(c *fiber.Ctx) (list httpapi.List[deliveryapi.AttemptView], err error) {
	ctx, cancel := httpapi.RequestContext(c)
	defer cancel()
	id, workflowID, err := a.pathEvent(ctx, c)
	if err != nil {
		return list, err
	}
	if list, err = a.Outbound.Attempts(c, id); err != nil || len(list.Items) > 0 {
		return list, err
	}
	_, _, err = a.known(ctx, id, workflowID)
	return list, err
}
