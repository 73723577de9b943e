package api

import (
	"context"
	"errors"

	"holdfast/event"
	"holdfast/operator/httpapi"
)

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
