package runs

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/converter"

	"holdfast/event"
	"holdfast/workflows"
)

const (
	// maxListed is the max number of open runs in a list of events: Temporal's page size.
	maxListed = 1000
	// maxPages bounds the search for an event ID.
	maxPages = 10
	// acceptTimeout bounds each search for accepted events, so that lists work while Temporal is down.
	acceptTimeout = 2 * time.Second
)

// The start of a run, by Temporal's clock, relative to the time in its event ID, unless the event was in the inbox.
const (
	startedBefore = 10 * time.Second
	startedAfter  = time.Minute
)

// AcceptedEvents lists the events of the newest open runs that match a query. It uses only Temporal's visibility list, which lags
// some hundred milliseconds behind.
func (r *Reader) AcceptedEvents(ctx context.Context, q event.RecordQuery) (found event.AcceptedEvents, err error) {
	ctx, cancel := WithTimeout(ctx, acceptTimeout)
	defer cancel()
	response, err := r.client.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{
		Query: openRuns + restrict(q), PageSize: maxListed,
	})
	if err != nil {
		return found, unavailable("list open runs", err)
	}
	for _, info := range response.GetExecutions() {
		if record, ok := r.acceptedRecord(info); ok && selects(q, record) {
			found.Records = append(found.Records, record)
		}
	}
	slices.SortFunc(found.Records, func(a, b event.Record) int { return cmp.Compare(b.Receipt.ID, a.Receipt.ID) })
	found.IsCut = len(response.GetNextPageToken()) > 0
	return found, nil
}

const openRuns = "WorkflowType = '" + workflows.TypeProcessEvent + "' AND ExecutionStatus = 'Running'"

// restrict adds the filters that Temporal's list supports. They may select more than the query does.
func restrict(q event.RecordQuery) (clauses string) {
	if q.Provider != "" {
		clauses += matching(workflows.SearchProvider.GetName(), q.Provider)
	}
	if q.Type != "" {
		clauses += matching(workflows.SearchEventType.GetName(), q.Type)
	}
	if q.Provider != "" && q.Key != "" {
		clauses += matching("WorkflowId", event.WorkflowID(q.Provider, event.CanonicalKey(q.Provider, q.Key)))
	}
	if !q.Since.IsZero() {
		clauses += startedSince(q.Since.Add(-startedBefore))
	}
	return clauses
}

func startedSince(t time.Time) string {
	return " AND StartTime >= '" + t.UTC().Format(time.RFC3339Nano) + "'"
}

// selects applies all filters, since Temporal's list doesn't support some of them, and not every value of the others.
func selects(q event.RecordQuery, r event.Record) bool {
	id, provider := r.Receipt.ID, r.Receipt.Provider
	return (q.Provider == "" || provider == q.Provider) &&
		(q.Type == "" || r.Type == q.Type) &&
		(q.Key == "" || r.Receipt.Key == event.CanonicalKey(provider, q.Key)) &&
		(q.Source == "" || r.Receipt.Source == q.Source) &&
		(q.Before == "" || id < q.Before) &&
		(q.Since.IsZero() || id >= event.FirstIDAt(q.Since)) &&
		(q.Until.IsZero() || id < event.FirstIDAt(q.Until))
}

// acceptedRecord converts an entry of Temporal's list; ok is false if it has no event ID.
func (r *Reader) acceptedRecord(info *workflowpb.WorkflowExecutionInfo) (record event.Record, ok bool) {
	run, id := runOf(info), memoEventID(info, r.converter)
	provider, key, ok := event.SplitWorkflowID(run.WorkflowID)
	if !ok || id == "" {
		return record, false
	}
	kind := indexed(info.GetSearchAttributes(), workflows.SearchEventType.GetName())
	received := event.AcceptedAt(id)
	if received.IsZero() {
		received = info.GetStartTime().AsTime()
	}
	return event.Record{
		Receipt: event.Receipt{
			ID: id, Provider: provider, Key: key, Type: kind, ReceivedAt: received,
			Source: memoOfRun(info, r.converter, workflows.MemoSource),
		},
		Type: kind, Status: event.StatusAccepted, Run: run, OccurredAt: received, OccurredAtMissing: true,
	}, true
}

// indexed reads a search attribute, which is never encrypted.
func indexed(attributes *commonpb.SearchAttributes, name string) (text string) {
	if field := attributes.GetIndexedFields()[name]; field != nil {
		_ = converter.GetDefaultDataConverter().FromPayload(field, &text)
	}
	return text
}

// AcceptedEvent finds the open run of an event by the event ID in its memo, searching Temporal's list from the time of the ID. If
// it returns event.ErrNotFound, isCut reports that there are more open runs than it searched.
func (r *Reader) AcceptedEvent(ctx context.Context, id string) (found event.Accepted, isCut bool, err error) {
	made := event.AcceptedAt(id)
	if made.IsZero() {
		return found, false, event.ErrNotFound
	}
	ctx, cancel := WithTimeout(ctx, acceptTimeout)
	defer cancel()
	soon := made.Add(startedAfter)
	for _, clause := range []string{
		startedSince(made.Add(-startedBefore)) + startedUntil(soon),
		startedSince(soon), // the event was in the inbox
	} {
		workflowID, cut, err := r.searchMemo(ctx, openRuns+clause, id)
		if err != nil {
			return found, false, err
		}
		if workflowID == "" {
			isCut = isCut || cut
			continue
		}
		found, err = r.acceptedOf(ctx, workflowID)
		if err == nil && found.Receipt.ID != id {
			err = event.ErrNotFound // the run has ended meanwhile
		}
		return found, false, err
	}
	return found, isCut, event.ErrNotFound
}

// searchMemo searches Temporal's list for the run of an event.
func (r *Reader) searchMemo(ctx context.Context, query, eventID string) (workflowID string, isCut bool, err error) {
	request := &workflowservice.ListWorkflowExecutionsRequest{Query: query, PageSize: maxListed}
	for range maxPages {
		page, err := r.client.ListWorkflow(ctx, request)
		if err != nil {
			return "", false, unavailable("search open runs", err)
		}
		for _, info := range page.GetExecutions() {
			if memoEventID(info, r.converter) == eventID {
				return info.GetExecution().GetWorkflowId(), false, nil
			}
		}
		if request.NextPageToken = page.GetNextPageToken(); len(request.NextPageToken) == 0 {
			return "", false, nil
		}
	}
	return "", true, nil
}

// AcceptedOf returns the event of the open run of a workflow, or event.ErrNotFound.
func (r *Reader) AcceptedOf(ctx context.Context, workflowID string) (event.Accepted, error) {
	ctx, cancel := WithTimeout(ctx, acceptTimeout)
	defer cancel()
	return r.acceptedOf(ctx, workflowID)
}

// WorkflowOfRun returns the ID of the workflow that has a run, or event.ErrNotFound. Temporal's list knows a run some hundred
// milliseconds after its start, and until the namespace's retention ends. runID is a UUID.
func (r *Reader) WorkflowOfRun(ctx context.Context, runID string) (string, error) {
	if uuid.Validate(runID) != nil {
		return "", event.ErrNotFound
	}
	ctx, cancel := WithTimeout(ctx, acceptTimeout)
	defer cancel()
	found, err := r.client.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{
		Query: fmt.Sprintf("RunId = '%s'", runID), PageSize: 1,
	})
	switch {
	case err != nil:
		return "", unavailable("find run "+runID, err)
	case len(found.GetExecutions()) == 0:
		return "", event.ErrNotFound
	}
	return found.GetExecutions()[0].GetExecution().GetWorkflowId(), nil
}

func (r *Reader) acceptedOf(ctx context.Context, workflowID string) (found event.Accepted, err error) {
	described, err := r.client.DescribeWorkflowExecution(ctx, workflowID, "")
	info := described.GetWorkflowExecutionInfo()
	switch {
	case isNotFound(err):
		return found, event.ErrNotFound
	case err != nil:
		return found, unavailable("describe workflow "+workflowID, err)
	case info.GetType().GetName() != workflows.TypeProcessEvent,
		info.GetStatus() != enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING:
		return found, event.ErrNotFound
	}
	found.Run = runOf(info)
	history, err := r.history(ctx, found.Run)
	if err != nil {
		return found, unavailable("read history of workflow "+workflowID, err)
	}
	if found.Receipt, found.Body, err = r.inputOf(history[0]); err != nil {
		return found, unreadable(found.Run, err)
	}
	found.Receipt.ID = cmp.Or(memoEventID(info, r.converter), found.Receipt.ID)
	found.Progress = r.progressOf(described, history)
	return found, nil
}

func unavailable(doing string, err error) error {
	return &event.Error{Class: event.ClassTransient, Code: event.CodeNoTemporal, Err: fmt.Errorf("%s: %w", doing, err)}
}
