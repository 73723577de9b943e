package api

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/gofiber/fiber/v2"
	"github.com/google/uuid"

	"holdfast/event"
	"holdfast/operator/httpapi"
)

// identified are the events that a text identifies.
type identified struct {
	EventIDs []string `json:"event_ids"`
}

var identifyParameter = httpapi.TextParameter("text", "ID of an event, of its workflow (provider:key), its run or its "+
	"request, its key, or the number of its dead letter.")

func (a *API) identify(c *fiber.Ctx) error {
	return httpapi.ReadByPath(c, "text", func(ctx context.Context, text string) error {
		ids, err := a.Identify(ctx, text)
		if err != nil {
			return err
		}
		return c.JSON(identified{ids})
	})
}

// IsID reports whether a text has the form of our IDs. Other forms of a UUID, such as urn:uuid:…, can only be keys.
func IsID(text string) bool { return len(text) == len(uuid.Nil.String()) && uuid.Validate(text) == nil }

// maxIdentified is how many events of a key are named, if several providers have it.
const maxIdentified = 20

// Identify returns the IDs of the events that a text identifies: one by its own ID, that of its workflow or its run, its key or
// its dead letter's number; all events of a request by the request's ID. They need not be stored any more.
func (a *API) Identify(ctx context.Context, text string) ([]string, error) {
	isUnsearched := false
	for _, find := range []func(context.Context, string) ([]string, error){
		a.byNumber, a.byWorkflow, a.byKey, a.byID, a.Events.EventsOfRequest, a.byRun, a.acceptedByKey,
	} {
		ids, err := find(ctx, text)
		switch {
		case len(ids) > 0:
			return ids, err
		case event.CodeOf(err) == event.CodeNoTemporal:
			isUnsearched = true
		case err != nil && !errors.Is(err, event.ErrNotFound):
			return nil, err
		}
	}
	if IsID(text) {
		return []string{text}, nil // an operator's decision about it may exist
	}
	return nil, notIdentified(text, isUnsearched)
}

func notIdentified(text string, isUnsearched bool) error {
	detail := fmt.Sprintf("no event matches %q: use its ID, its workflow ID (provider:key), its key, "+
		"the number of its dead letter, or the ID of its run or request", text)
	if isUnsearched {
		detail += "; Temporal didn't respond, so events waiting for a worker were not searched"
	}
	return &httpapi.RefusalError{Code: httpapi.CodeNoSuchThing, Detail: detail}
}

// byNumber also looks for an equal key, because either may be meant.
func (a *API) byNumber(ctx context.Context, text string) ([]string, error) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || a.DeadLetters == nil {
		return nil, event.ErrNotFound
	}
	ids, err := a.byKey(ctx, text)
	if err != nil {
		return nil, err
	}
	d, err := a.DeadLetters.DeadLetter(ctx, n)
	switch {
	case errors.Is(err, event.ErrNotFound):
		return ids, nil
	case err == nil && !slices.Contains(ids, d.Receipt.ID):
		ids = append(ids, d.Receipt.ID)
	}
	return ids, err
}

func (a *API) byWorkflow(ctx context.Context, text string) ([]string, error) {
	if event.IsBatchWorkflow(text) {
		return single(a.EventOfWorkflow(ctx, text))
	}
	provider, key, ok := event.SplitWorkflowID(text)
	if !ok || IsID(text) {
		return nil, event.ErrNotFound
	}
	for _, one := range []string{key, event.CanonicalKey(provider, key)} {
		record, err := a.Events.EventByKey(ctx, provider, one)
		if !errors.Is(err, event.ErrNotFound) {
			return single(record.Receipt.ID, err)
		}
	}
	return single(a.EventOfWorkflow(ctx, text))
}

// byKey searches all providers.
func (a *API) byKey(ctx context.Context, text string) (ids []string, err error) {
	if IsID(text) {
		return nil, event.ErrNotFound
	}
	return idsOf(a.Events.Events(ctx, event.RecordQuery{Key: text, Limit: maxIdentified}))
}

func (a *API) byID(ctx context.Context, text string) ([]string, error) {
	if !IsID(text) {
		return nil, event.ErrNotFound
	}
	_, err := a.Events.WorkflowsOf(ctx, text)
	return single(text, err)
}

// acceptedByKey looks among the newest open runs for events of all providers that still wait for a worker.
func (a *API) acceptedByKey(ctx context.Context, text string) ([]string, error) {
	if IsID(text) || a.Accepted == nil {
		return nil, event.ErrNotFound
	}
	found, err := a.Accepted.AcceptedEvents(ctx, event.RecordQuery{Key: text})
	return idsOf(found.Records, err)
}

// byRun finds the event of a run while Temporal keeps the run. A batch's run has many events, and finds the latest.
func (a *API) byRun(ctx context.Context, text string) ([]string, error) {
	if !IsID(text) || a.Accepted == nil {
		return nil, event.ErrNotFound
	}
	workflowID, err := a.Accepted.WorkflowOfRun(ctx, text)
	if err != nil {
		return nil, err
	}
	return a.byWorkflow(ctx, workflowID)
}

func idsOf(records []event.Record, err error) (ids []string, _ error) {
	for _, r := range records {
		ids = append(ids, r.Receipt.ID)
	}
	return ids, err
}

func single(id string, err error) ([]string, error) {
	if err != nil {
		return nil, err
	}
	return []string{id}, nil
}

// FindEvent finds an event wherever it is.
func (a *API) FindEvent(ctx context.Context, id string) (event.Record, error) {
	record, _, err := a.findEvent(ctx, id, "")
	return record, err
}

// findEvent finds an event wherever it is, and what it waits for. By workflow ID it finds an event as soon as it is acknowledged.
// By event ID alone it searches Temporal's list, which lags by some hundred milliseconds.
func (a *API) findEvent(ctx context.Context, id, workflowID string) (event.Record, *event.Wait, error) {
	record, err := a.Events.Event(ctx, id)
	if !errors.Is(err, event.ErrNotFound) {
		return record, nil, err
	}
	waiting, wait, err := a.eventWithoutRow(ctx, id, workflowID)
	if !errors.Is(err, event.ErrNotFound) {
		return waiting, wait, err
	}
	record, err = a.Events.Event(ctx, id) // its row may have been written in the meantime
	return record, nil, err
}

// EventOfWorkflow returns the ID of a workflow's latest event: stored, in the inbox, or waiting for a worker.
func (a *API) EventOfWorkflow(ctx context.Context, workflowID string) (string, error) {
	id, err := a.Events.EventOfWorkflow(ctx, workflowID)
	if !errors.Is(err, event.ErrNotFound) {
		return id, err
	}
	waiting, err := a.Events.WaitingByWorkflow(ctx, workflowID)
	if !errors.Is(err, event.ErrNotFound) || a.Accepted == nil {
		return waiting.Receipt.ID, err
	}
	accepted, err := a.Accepted.AcceptedOf(ctx, workflowID)
	if errors.Is(err, event.ErrNotFound) { // its run may have ended in the meantime
		return a.Events.EventOfWorkflow(ctx, workflowID)
	}
	return accepted.Receipt.ID, err
}

// eventWithoutRow finds an event in the inbox, in an open run, or, if it failed before it had a row, in its latest dead letter.
// Otherwise there may be an operator's decision, or the event that has its key, or the ID is that of a redelivery: then it
// returns the event that the redelivery repeated.
func (a *API) eventWithoutRow(ctx context.Context, id, workflowID string) (event.Record, *event.Wait, error) {
	waiting, err := a.Events.WaitingEvent(ctx, id)
	if err == nil {
		run := event.Run{WorkflowID: waiting.Receipt.WorkflowID()}
		return recordOf(waiting.Receipt, StatusWaiting, run, waiting.Body), a.inboxWait(ctx, waiting), nil
	}
	if !errors.Is(err, event.ErrNotFound) {
		return event.Record{}, nil, err
	}
	if a.DeadLetters != nil {
		d, err := a.DeadLetters.DeadLetterOfEvent(ctx, id)
		if err == nil {
			return recordOf(d.Receipt, event.StatusDead, d.Run, d.Body), nil, nil
		}
		if !errors.Is(err, event.ErrNotFound) {
			return event.Record{}, nil, err
		}
	}
	if err := a.explainMissing(ctx, id); !errors.Is(err, event.ErrNotFound) {
		return event.Record{}, nil, err
	}
	owner, err := a.Events.OwnerOfRedelivery(ctx, id)
	if err == nil {
		return a.repeated(ctx, owner)
	}
	if !errors.Is(err, event.ErrNotFound) {
		return event.Record{}, nil, err
	}
	return a.acceptedEvent(ctx, id, workflowID)
}

// repeated returns the event that a redelivery repeated.
func (a *API) repeated(ctx context.Context, owner string) (event.Record, *event.Wait, error) {
	record, wait, err := a.findEvent(ctx, owner, "")
	if errors.Is(err, event.ErrNotFound) {
		err = &httpapi.RefusalError{
			Code:   httpapi.CodeNoSuchThing,
			Detail: "it repeated event " + owner + ", of which only the key is known: it was imported without a body, or is purged",
		}
	}
	return record, wait, err
}

// recordOf builds the record of an event that wasn't parsed.
func recordOf(r event.Receipt, status event.Status, run event.Run, body []byte) event.Record {
	return event.Record{
		Receipt: r, Type: r.Type, Status: status, Run: run, Body: body, OccurredAt: r.ReceivedAt, OccurredAtMissing: true,
	}
}

// explainMissing explains a missing event; event.ErrNotFound if it never existed.
func (a *API) explainMissing(ctx context.Context, id string) error {
	decision, err := a.Events.Decision(ctx, id)
	if err == nil {
		return &event.DecisionError{Decision: decision}
	}
	if !errors.Is(err, event.ErrNotFound) {
		return err
	}
	conflict, err := a.Events.ConflictOfEvent(ctx, id)
	if err == nil {
		return &httpapi.RefusalError{
			Code:     httpapi.CodeNoSuchThing,
			Detail:   "it was dropped: event " + conflict.Owner + " has its key",
			Conflict: &conflict,
		}
	}
	return err
}
