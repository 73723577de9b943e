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
	// ID is a UUIDv7; its time is when the event was accepted.
	ID       string `json:"id" jsonschema:"format=uuid"`
	Provider string `json:"provider"`
	// Source is the sender within the provider (an instance, an account).
	Source string `json:"source,omitempty"`
	// Key is the canonical idempotency key that the event was accepted with. It is part of its workflow ID.
	Key string `json:"key"`
	// CorrectedKey is the key that a corrected definition has given the event since; absent if it is the same. Both keys find the
	// event, the corrected one until the dedupe window has passed and another event claims it.
	CorrectedKey string `json:"corrected_key,omitempty"`
	Type         string `json:"type"`
	// Status is "accepted" while the event has a run and no row yet, so that it waits for a worker, and "waiting" while it is in the
	// inbox, in which case lists don't have it.
	Status     event.Status  `json:"status" jsonschema:"enum=waiting"`
	Outcome    event.Outcome `json:"outcome,omitempty" jsonschema:"enum=processed,enum=ignored"`
	OccurredAt time.Time     `json:"occurred_at"`
	// OccurredAtMissing reports that OccurredAt is only the time of receipt.
	OccurredAtMissing bool      `json:"occurred_at_missing,omitempty"`
	ReceivedAt        time.Time `json:"received_at"`
	// PersistedAt is absent while the event has no row. Its run, inbox entry or dead letter then gives the other fields.
	PersistedAt time.Time  `json:"persisted_at,omitzero"`
	ProcessedAt *time.Time `json:"processed_at,omitempty"`
	Run         event.Run  `json:"run"`
	// Replaces is the ID of the event that was edited to create this one.
	Replaces string `json:"replaces,omitempty" jsonschema:"format=uuid"`
	// SplitFrom is the ID of the event that a replay split into this one and others.
	SplitFrom string `json:"split_from,omitempty" jsonschema:"format=uuid"`
	// PossibleDuplicateOf is the ID of the first event with the same content in 30 days, if the key is guessed.
	PossibleDuplicateOf string `json:"possible_duplicate_of,omitempty" jsonschema:"format=uuid"`
	// Omitted lists entities that the event names and didn't change, because they exceed a limit.
	Omitted *event.Omitted `json:"omitted,omitempty"`
	// DeliveryStatus is the first of processing, retrying, pending and failed that one of the event's deliveries has, or else
	// delivered. Lists have none for events that no subscription matches. In one event's details it is pending before the event is
	// processed, and absent if the event is dead: subscriptions are matched after processing.
	DeliveryStatus delivery.Status `json:"delivery_status,omitempty"`
}

// ViewEvent converts a stored event for lists.
func ViewEvent(r event.Record) EventView {
	return EventView{
		ID: r.Receipt.ID, Provider: r.Receipt.Provider, Source: r.Receipt.Source, Key: r.Receipt.Key,
		CorrectedKey: r.CorrectedKey, Type: r.Type, Status: r.Status, Outcome: r.Outcome, OccurredAt: r.OccurredAt,
		OccurredAtMissing: r.OccurredAtMissing,
		ReceivedAt:        r.Receipt.ReceivedAt, PersistedAt: r.PersistedAt, ProcessedAt: r.ProcessedAt, Run: r.Run,
		Replaces: r.Receipt.Replaces, SplitFrom: r.Receipt.SplitFrom, PossibleDuplicateOf: r.PossibleDuplicateOf,
		Omitted: r.Omitted,
	}
}

// EventDetail is one event with everything recorded about it.
type EventDetail struct {
	EventView

	Receipt event.Receipt `json:"receipt"`
	Body    Content       `json:"body"`
	// PayloadNote says how the stored projection differs from the body.
	PayloadNote string `json:"payload_note,omitempty"`
	// Wait is set for an event that isn't processed yet. It is missing if the event is stored and Temporal doesn't answer.
	Wait *event.Wait `json:"wait,omitempty"`
	// TemporalWeb is the page of its run, if HOLDFAST_OPERATOR_TEMPORAL_WEB is set.
	TemporalWeb string `json:"temporal_web,omitempty" jsonschema:"format=uri"`
	// Decision is an operator's decision about the event.
	Decision *event.Decision `json:"decision,omitempty"`
	Entities []Change        `json:"entities"`
	// Attempts are the errors of its steps, overcome or not, latest first, up to 100.
	Attempts    []oversight.ErrorEntry `json:"attempts"`
	DeadLetters []DeadLetterView       `json:"dead_letters"`
	// Deliveries are sorted by subscription.
	Deliveries []deliveryapi.DeliveryView `json:"deliveries,omitempty"`
	// RedeliveredAs is the ID in the request's path, if it was given to a redelivery of this event. Redeliveries have no rows.
	RedeliveredAs string `json:"redelivered_as,omitempty" jsonschema:"format=uuid"`
	// Duplicates counts its redeliveries; absent if there were none.
	Duplicates *event.Duplicates `json:"duplicates,omitempty"`
}

// maxAttempts bounds the errors shown for an event that has failed for a long time.
const maxAttempts = 100

// StatusWaiting is the status of an event in the inbox, which has no row yet.
const StatusWaiting event.Status = "waiting"

type idCursor struct {
	ID string `json:"id"`
}

var (
	eventID = httpapi.TextParameter("id",
		"ID of the event, or of its workflow (provider:key), which finds the latest event that it has run.")
	eventParameters = []httpapi.Parameter{
		httpapi.ProviderParameter, httpapi.SourceParameter, httpapi.TypeParameter,
		httpapi.ChoiceParameter("status", "Status of the event.", event.Statuses()),
		keyParameter,
		httpapi.TextParameter("entity_kind", "With provider and entity_id: the events that changed that entity."),
		httpapi.TextParameter("entity_id", "ID of the entity at the provider."),
		httpapi.ChoiceParameter("possible_duplicate", "Only events with the same content as an earlier one.", []string{"true"}),
		httpapi.ChoiceParameter("omitted", "Only events that left out entities because of a limit.", []string{"true"}),
		httpapi.ChoiceParameter("delivery_status", "Only events with a delivery in this status. Searches the newest "+
			"5,000 deliveries: a page may be short, even empty, and have a next one.", delivery.Statuses()),
		httpapi.SinceParameter, httpapi.UntilParameter,
		httpapi.TextParameter("text", "Text in the body, byte for byte or as JSON escapes it; for operators. Searches the newest "+
			"20,000 events (32 MiB) that match the other filters: a page may be short, even empty, and have a next one."),
		httpapi.LimitParameter, httpapi.CursorParameter,
	}
	keyParameter = httpapi.TextParameter("key", "Idempotency key, as the provider gave it or canonical. An event whose key a "+
		"corrected definition has changed has both.")
)

func (a *API) eventRoutes() []httpapi.Route {
	return []httpapi.Route{
		httpapi.Get("listEvents", "/events", "Events, newest first: stored ones, and those that wait for a worker", a.listEvents).
			Explain("since and until bound when the event was accepted, which is the time in its ID. Events with the status accepted "+
				"have no row yet: they are read from the newest 1,000 open runs in Temporal that match provider, type and since. "+
				"They are left out if you filter by text, entity, possible_duplicate or omitted. Events in the inbox aren't listed.").
			With(eventParameters...).Returns(fiber.StatusOK, httpapi.List[EventView]{}),
		httpapi.Get("identifyEvents", "/find/:text", "IDs of the events that a text identifies", a.identify).
			Explain("An event is found by whatever names it, wherever it is. Several are found by the ID of a request with "+
				"several, or by a key that several providers have.").
			With(identifyParameter).Returns(fiber.StatusOK, identified{}),
		httpapi.Get("showEvent", "/events/:id", "One event with its body, entities, attempts and dead letters", a.showEvent).
			With(eventID).Returns(fiber.StatusOK, EventDetail{}),
		httpapi.Get("downloadBody", "/events/:id/body", "Body of an event, as received", a.DownloadBody).
			Explain("For viewers, it is JSON without the parts that the provider's definition hides, and 403 for any other body.").
			With(eventID).
			Returns(fiber.StatusOK, httpapi.Text{MediaType: fiber.MIMEOctetStream, About: "The bytes of the body."}),
	}
}

func (a *API) attemptRoutes() []httpapi.Route {
	return []httpapi.Route{
		httpapi.Get("listAttempts", "/events/:id/attempts", "Attempts to deliver an event, oldest first", a.listAttempts).
			With(eventID).Returns(fiber.StatusOK, httpapi.List[deliveryapi.AttemptView]{}),
	}
}

func (a *API) listEvents(c *fiber.Ctx) error {
	return httpapi.RespondList(c, a.EventQuery, a.ListEvents)
}

// EventQuery parses the query of a list of events.
func (a *API) EventQuery(c *fiber.Ctx) (event.RecordQuery, error) {
	q := httpapi.QueryOf(c, eventParameters...)
	wanted := event.RecordQuery{
		Provider: q.Text("provider"), Source: q.Source(), Type: q.Text("type"), Key: q.Text("key"), Text: q.Text("text"),
		Status:             httpapi.Choose(q, "status", event.Statuses()),
		PossibleDuplicates: httpapi.Choose(q, "possible_duplicate", []string{"true"}) != "",
		WithOmitted:        httpapi.Choose(q, "omitted", []string{"true"}) != "",
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

// ListEvents returns one page of the matching stored events. In a search by text or by delivery status, a page that isn't full
// still has a next one while events remain unchecked.
func (a *API) ListEvents(ctx context.Context, q event.RecordQuery) (list httpapi.List[EventView], err error) {
	ctx, cancel := context.WithTimeout(ctx, httpapi.Timeout)
	defer cancel()
	q.Limit++ // one more shows whether there is a next page
	if q.Text != "" || q.DeliveryStatus != "" {
		found, err := a.Events.SearchEvents(ctx, q)
		if err != nil {
			return list, err
		}
		list = httpapi.NewPage(found.Records, q.Limit-1, ViewEvent, func(r event.Record) idCursor { return idCursor{r.Receipt.ID} })
		list.ContinueAt(list.Next == "" && found.SearchedTo != "", idCursor{found.SearchedTo})
		return list, a.addStatuses(ctx, list.Items)
	}
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
	return httpapi.Respond(c, func(c *fiber.Ctx) (EventDetail, error) {
		detail, err := a.Event(c)
		detail.Body = detail.Body.Beginning()
		return detail, err
	})
}

// Event returns the event in the request's path, with all details that its caller may see.
func (a *API) Event(c *fiber.Ctx) (detail EventDetail, err error) {
	ctx := httpapi.RequestContext(c)
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
	record, wait, err := a.findEvent(ctx, id, workflowID)
	if err != nil {
		return detail, err
	}
	if record.Status == event.StatusPersisted {
		wait = a.waitOfRun(ctx, record.Receipt)
	}
	detail = EventDetail{
		EventView: ViewEvent(record), Wait: wait, Receipt: receipt(viewer, record.Receipt), PayloadNote: record.PayloadNote,
		Body: a.content(viewer, record.Receipt, record.Body), Entities: make([]Change, 0, len(record.Links)),
	}
	if detail.ID != id {
		detail.RedeliveredAs = id
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
	ctx := httpapi.RequestContext(c)
	id, workflowID, err := a.pathEvent(ctx, c)
	if err != nil {
		return list, err
	}
	if list, err = a.Outbound.Attempts(c, id); err != nil || len(list.Items) > 0 {
		return list, err
	}
	record, _, err := a.findEvent(ctx, id, workflowID)
	if err == nil && record.Receipt.ID != id {
		return a.Outbound.Attempts(c, record.Receipt.ID)
	}
	return list, err
}
