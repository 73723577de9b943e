package api

import (
	"context"
	"errors"

	"holdfast/event"
	"holdfast/operator/exchange"
)

// known is an event wherever it is, and what it waits for. With its workflow ID it is found as soon as it is acknowledged. By the
// event ID alone Temporal's list is searched, which is some hundred milliseconds late.
func (a *API) known(ctx context.Context, id, workflowID string) (event.Record, *Wait, error) {
	record, err := a.Events.Event(ctx, id)
	if !errors.Is(err, event.ErrNotFound) {
		return record, nil, err
	}
	waiting, wait, err := a.eventWithoutRow(ctx, id, workflowID)
	if !errors.Is(err, event.ErrNotFound) {
		return waiting, wait, err
	}
	record, err = a.Events.Event(ctx, id) // it may have got its row meanwhile
	return record, nil, err
}

// Knows says whether anything is known of an event, be it that nothing is left of it.
func (a *API) Knows(ctx context.Context, id string) (bool, error) {
	_, _, err := a.known(ctx, id, "")
	var refused *exchange.RefusalError
	var verdict *event.DecisionError
	switch {
	case errors.As(err, &verdict):
		return true, nil
	case errors.As(err, &refused):
		return true, nil // its page says why
	case errors.Is(err, event.ErrNotFound):
		return false, nil
	}
	return err == nil, err
}

// EventOfWorkflow is the ID of the latest event of a workflow: stored, in the inbox, or waiting for a worker.
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
	if errors.Is(err, event.ErrNotFound) { // its run may have ended meanwhile
		return a.Events.EventOfWorkflow(ctx, workflowID)
	}
	return accepted.Receipt.ID, err
}

// eventWithoutRow is an event that waits in the inbox or for a worker, or that died before it had a row, as its latest dead
// letter has it. Where none of them has it there may be a verdict, or the event whose key it wanted.
func (a *API) eventWithoutRow(ctx context.Context, id, workflowID string) (event.Record, *Wait, error) {
	waiting, err := a.Events.WaitingEvent(ctx, id)
	if err == nil {
		run := event.Run{WorkflowID: waiting.Receipt.WorkflowID()}
		return recordOf(waiting.Receipt, statusWaiting, run, waiting.Body), inboxWait(waiting), nil
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
	if err := a.whyNothingIsLeft(ctx, id); !errors.Is(err, event.ErrNotFound) {
		return event.Record{}, nil, err
	}
	return a.acceptedEvent(ctx, id, workflowID)
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
		return &event.DecisionError{Decision: verdict}
	}
	if !errors.Is(err, event.ErrNotFound) {
		return err
	}
	conflict, err := a.Events.ConflictOfEvent(ctx, id)
	if err == nil {
		return &exchange.RefusalError{
			Code: exchange.CodeNoSuchThing, Detail: "it was dropped: event " + conflict.Owner + " has its key",
		}
	}
	return err
}
