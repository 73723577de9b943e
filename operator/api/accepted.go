package api

import (
	"cmp"
	"context"
	"errors"
	"net/url"
	"slices"
	"time"

	"holdfast/event"
	"holdfast/operator/httpapi"
)

// AcceptedStore reads from Temporal the events that are acknowledged and wait for a worker. Each call takes at most a few
// seconds; a transient error means that Temporal doesn't answer.
type AcceptedStore interface {
	// AcceptedEvents lists the matching events among the newest open runs.
	AcceptedEvents(ctx context.Context, q event.RecordQuery) (event.AcceptedEvents, error)
	// AcceptedEvent finds the open run of an event, or returns event.ErrNotFound; isCut reports that not all open runs were
	// checked.
	AcceptedEvent(ctx context.Context, id string) (found event.Accepted, isCut bool, err error)
	// AcceptedOf returns the event of a workflow's open run, or event.ErrNotFound.
	AcceptedOf(ctx context.Context, workflowID string) (event.Accepted, error)
	// WorkflowOfRun returns the ID of the workflow that has a run, as long as Temporal keeps it, or event.ErrNotFound.
	WorkflowOfRun(ctx context.Context, runID string) (string, error)
}

// inboxWait explains why an event is in the inbox. If it also has a run, the run says what the event waits for.
func (a *API) inboxWait(ctx context.Context, w event.Waiting) *event.Wait {
	if w.Lane.HasRun() {
		if wait := a.waitOfRun(ctx, w.Receipt); wait != nil {
			wait.Reason = "in Temporal, " + wait.Reason
			return wait
		}
	}
	reason := "in the inbox, waiting for Temporal"
	if w.Lane == event.LaneBulk {
		reason = "in the inbox, waiting for a batch"
	}
	if w.Lane == event.LaneCopy {
		reason = "in Temporal; the inbox has a copy"
	}
	return &event.Wait{
		Reason: reason,
		Advice: "`holdfast inbox show " + w.Receipt.ID + "` shows its attempts; `holdfast doctor` checks Temporal and the workers",
	}
}

// waitOfRun explains why the open run of an event hasn't ended; nil if that can't be read now.
func (a *API) waitOfRun(ctx context.Context, r event.Receipt) *event.Wait {
	if a.Accepted == nil {
		return nil
	}
	found, err := a.Accepted.AcceptedOf(ctx, r.WorkflowID())
	if err != nil || found.Receipt.ID != r.ID {
		return nil
	}
	wait := found.Progress.Wait(found.Run.WorkflowID, time.Now())
	return &wait
}

// FindEvents returns the matching events, newest first: stored ones and those that wait for a worker. The note says what is
// missing from the answer. Those that wait are read first: they are stored before their runs end.
func (a *API) FindEvents(ctx context.Context, q event.RecordQuery) (found []event.Record, note string, err error) {
	accepted, note := a.acceptedEvents(ctx, q)
	if q.Status != event.StatusAccepted {
		if found, err = a.Events.Events(ctx, q); err != nil {
			return nil, "", err
		}
	}
	if accepted, err = a.withoutStored(ctx, accepted); err != nil {
		return nil, "", err
	}
	return merged(found, accepted, q.Limit), note, nil
}

// acceptedEvents returns the matching events that wait for a worker. The note says which ones aren't included.
func (a *API) acceptedEvents(ctx context.Context, q event.RecordQuery) (found []event.Record, note string) {
	if !canWait(q) || a.Accepted == nil {
		return nil, ""
	}
	accepted, err := a.Accepted.AcceptedEvents(ctx, q)
	switch {
	case err != nil:
		return nil, "Temporal does not answer: events that wait for a worker aren't included."
	case accepted.IsCut:
		note = "Only the newest open runs were searched for events that wait for a worker. There are more."
	}
	return accepted.Records, note
}

// canWait reports whether a query can match an event that hasn't been parsed yet.
func canWait(q event.RecordQuery) bool {
	return (q.Status == "" || q.Status == event.StatusAccepted) && q.Entity == nil && q.Text == "" && !q.PossibleDuplicates &&
		!q.WithOmitted && q.DeliveryStatus == ""
}

// withoutStored drops events that have a row: their runs are being retried, or have ended since Temporal listed them.
func (a *API) withoutStored(ctx context.Context, all []event.Record) ([]event.Record, error) {
	if len(all) == 0 {
		return nil, nil
	}
	ids := make([]string, len(all))
	for i, r := range all {
		ids[i] = r.Receipt.ID
	}
	stored, err := a.Events.StoredEvents(ctx, ids)
	return slices.DeleteFunc(all, func(r event.Record) bool { return stored[r.Receipt.ID] }), err
}

// merged merges two lists, each newest first, and keeps the first limit events.
func merged(a, b []event.Record, limit int) []event.Record {
	all := slices.Concat(a, b)
	slices.SortStableFunc(all, func(x, y event.Record) int { return cmp.Compare(y.Receipt.ID, x.Receipt.ID) })
	if limit > 0 && len(all) > limit {
		all = all[:limit]
	}
	return all
}

// acceptedEvent returns an event that exists only in Temporal.
func (a *API) acceptedEvent(ctx context.Context, id, workflowID string) (event.Record, *event.Wait, error) {
	if a.Accepted == nil {
		return event.Record{}, nil, event.ErrNotFound
	}
	found, isCut, err := a.acceptedRun(ctx, id, workflowID)
	if errors.Is(err, event.ErrNotFound) && isCut {
		err = &httpapi.RefusalError{
			Code:   httpapi.CodeNoSuchThing,
			Detail: "not every open run was searched: if the event waits for a worker, its workflow ID (provider:key) finds it",
		}
	}
	if err != nil {
		return event.Record{}, nil, err
	}
	if found.Receipt.Large != nil {
		if found.Body, err = a.Events.LargeBody(ctx, found.Receipt); err != nil && event.ClassOf(err) != event.ClassRejected {
			return event.Record{}, nil, err
		}
	}
	wait := found.Progress.Wait(found.Run.WorkflowID, time.Now())
	return recordOf(found.Receipt, event.StatusAccepted, found.Run, found.Body), &wait, nil
}

func (a *API) acceptedRun(ctx context.Context, id, workflowID string) (found event.Accepted, isCut bool, err error) {
	if workflowID == "" {
		return a.Accepted.AcceptedEvent(ctx, id)
	}
	found, err = a.Accepted.AcceptedOf(ctx, workflowID)
	if err == nil && found.Receipt.ID != id {
		err = event.ErrNotFound
	}
	return found, false, err
}

// WorkflowURL returns the page of a run in Temporal Web.
func WorkflowURL(base, namespace string, run event.Run) string {
	page := base + "/namespaces/" + url.PathEscape(namespace) + "/workflows/" + url.PathEscape(run.WorkflowID)
	if run.RunID != "" {
		page += "/" + url.PathEscape(run.RunID) + "/history"
	}
	return page
}
