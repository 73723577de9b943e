package operator

import (
	"context"
	"errors"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/google/uuid"

	"holdfast/event"
)

// eventView is a stored event in a list.
type eventView struct {
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
}

func viewEvent(r event.Record) eventView {
	return eventView{
		ID: r.Receipt.ID, Provider: r.Receipt.Provider, Source: r.Receipt.Source, Key: r.Receipt.Key, Type: r.Type,
		Status: r.Status, Outcome: r.Outcome, OccurredAt: r.OccurredAt, OccurredAtMissing: r.OccurredAtMissing,
		ReceivedAt: r.Receipt.ReceivedAt, PersistedAt: r.PersistedAt, ProcessedAt: r.ProcessedAt, Run: r.Run,
		Replaces: r.Receipt.Replaces,
	}
}

// eventDetail is one event with all that is known of it.
type eventDetail struct {
	eventView

	Receipt     event.Receipt `json:"receipt"`
	Body        content       `json:"body"`
	PayloadNote string        `json:"payload_note,omitempty"`
	// Verdict is what an operator has decided about it.
	Verdict  *event.Verdict `json:"verdict,omitempty"`
	Entities []change       `json:"entities"`
	// Attempts are the errors of its steps, overcome or not, the latest first: at most maxAttempts.
	Attempts    []event.ErrorEntry `json:"attempts"`
	DeadLetters []deadLetterView   `json:"dead_letters"`
}

// maxAttempts bounds what is shown of an event that has failed for long.
const maxAttempts = 100

// statusWaiting is that of an event which has no row yet: it waits in the inbox.
const statusWaiting event.Status = "waiting"

type idCursor struct {
	ID string `json:"id"`
}

func (a *API) listEvents(c *fiber.Ctx) error {
	q := queryOf(c, "provider", "source", "type", "status", "key", "entity_kind", "entity_id", "since", "until",
		"limit", "cursor")
	wanted := event.RecordQuery{
		Provider: q.text("provider"), Source: q.source(), Type: q.text("type"), Key: q.text("key"),
		Status: choose(q, "status", event.Statuses()),
		Limit:  q.limit() + 1,
	}
	wanted.Since, wanted.Until = q.period()
	kind, id := q.text("entity_kind"), q.text("entity_id")
	if kind != "" || id != "" {
		if wanted.Provider == "" || kind == "" || id == "" {
			q.refuse("entity_id") // an entity is named by all three
		}
		wanted.Entity = &event.EntityRef{Provider: wanted.Provider, Kind: kind, ExternalID: id}
	}
	if place := cursorOf(q, func(c idCursor) bool { return uuid.Validate(c.ID) == nil }); place != nil {
		wanted.Before = place.ID
	}
	if q.err != nil {
		return q.err
	}
	ctx, cancel := within(c)
	defer cancel()
	rows, err := a.Events.Events(ctx, wanted)
	if err != nil {
		return err
	}
	return c.JSON(cut(rows, wanted.Limit-1, viewEvent, func(r event.Record) idCursor { return idCursor{r.Receipt.ID} }))
}

func (a *API) showEvent(c *fiber.Ctx) error {
	id, err := pathUUID(c)
	if err != nil {
		return err
	}
	if q := queryOf(c); q.err != nil {
		return q.err
	}
	ctx, cancel := within(c)
	defer cancel()
	record, err := a.Events.Event(ctx, id)
	if errors.Is(err, event.ErrNotFound) {
		record, err = a.eventWithoutRow(ctx, id)
	}
	if err != nil {
		return err
	}
	detail := eventDetail{
		eventView: viewEvent(record), Receipt: receipt(c, record.Receipt), PayloadNote: record.PayloadNote,
		Body: a.content(c, record.Receipt, record.Body), Entities: make([]change, 0, len(record.Links)),
	}
	for _, l := range record.Links {
		detail.Entities = append(detail.Entities, a.change(c, l))
	}
	if err := a.addVerdict(ctx, &detail); err != nil {
		return err
	}
	if err := a.addTroubles(ctx, &detail); err != nil {
		return err
	}
	return c.JSON(detail)
}

// eventWithoutRow is an event that waits in the inbox, or that died before it had a row, as its latest dead letter has it. Where
// neither has it there may be a verdict, or the event whose key it wanted.
func (a *API) eventWithoutRow(ctx context.Context, id string) (event.Record, error) {
	waiting, err := a.Events.WaitingEvent(ctx, id)
	if err == nil {
		return recordOf(waiting.Receipt, statusWaiting, event.Run{WorkflowID: waiting.Receipt.WorkflowID()}, waiting.Body), nil
	}
	if !errors.Is(err, event.ErrNotFound) || a.DeadLetters == nil {
		return event.Record{}, err
	}
	d, err := a.DeadLetters.DeadLetterOfEvent(ctx, id)
	if err == nil {
		return recordOf(d.Receipt, event.StatusDead, d.Run, d.Body), nil
	}
	if !errors.Is(err, event.ErrNotFound) {
		return event.Record{}, err
	}
	return event.Record{}, a.whyNothingIsLeft(ctx, id)
}

// recordOf is what is known of an event that was not parsed.
func recordOf(r event.Receipt, status event.Status, run event.Run, body []byte) event.Record {
	return event.Record{
		Receipt: r, Type: r.Type, Status: status, Run: run, Body: body, OccurredAt: r.ReceivedAt, OccurredAtMissing: true,
	}
}

// whyNothingIsLeft is event.ErrNotFound where nothing has ever been.
func (a *API) whyNothingIsLeft(ctx context.Context, id string) error {
	verdict, err := a.Events.Verdict(ctx, id)
	if err == nil {
		return &event.VerdictError{Verdict: verdict}
	}
	if !errors.Is(err, event.ErrNotFound) {
		return err
	}
	conflict, err := a.Events.ConflictOfEvent(ctx, id)
	if err == nil {
		return &refusal{code: codeNoSuchThing, detail: "it was dropped: event " + conflict.Owner + " has its key"}
	}
	return err
}

// addVerdict adds what was decided about the event.
func (a *API) addVerdict(ctx context.Context, detail *eventDetail) error {
	verdict, err := a.Events.Verdict(ctx, detail.ID)
	if err == nil {
		detail.Verdict = &verdict
	}
	if errors.Is(err, event.ErrNotFound) {
		return nil
	}
	return err
}

// addTroubles adds what went wrong with the event, then or later.
func (a *API) addTroubles(ctx context.Context, detail *eventDetail) error {
	detail.Attempts, detail.DeadLetters = []event.ErrorEntry{}, []deadLetterView{}
	if a.Errors != nil {
		attempts, err := a.Errors.Errors(ctx, event.ErrorQuery{EventID: detail.ID, Limit: maxAttempts})
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
		detail.DeadLetters = append(detail.DeadLetters, viewDeadLetter(d))
	}
	return err
}
