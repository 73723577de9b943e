package runs

import (
	"context"
	"errors"
	"fmt"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"

	"holdfast/event"
	"holdfast/event/operation"
	"holdfast/workflows"
)

// Replay runs a dead-lettered event again on its own queue, with the same workflow ID, event ID and bytes. It returns an
// operation.RunExistsError if the latest run of its workflow is open or has processed the event.
func (s *Starter) Replay(ctx context.Context, d event.DeadLetter) (event.Run, error) {
	d = withoutLargeBody(d)
	options := startOptions(d.Receipt, enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE_FAILED_ONLY)
	options.EnableEagerStart = s.Eager
	return s.replay(ctx, d, options)
}

// ReplayInBulk is Replay on the queue of bulk replays. Eager start is off, because it bypasses that queue.
func (s *Starter) ReplayInBulk(ctx context.Context, d event.DeadLetter) (event.Run, error) {
	d = withoutLargeBody(d)
	options := startOptions(d.Receipt, enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE_FAILED_ONLY)
	if options.TaskQueue != workflows.QueueLarge {
		options.TaskQueue = workflows.QueueReplay
	}
	return s.replay(ctx, d, options)
}

// withoutLargeBody leaves a large body out of a run: the run reads it from the dead letter.
func withoutLargeBody(d event.DeadLetter) event.DeadLetter {
	if d.Receipt.Large == nil && len(d.Body) > event.MaxInline {
		d.Receipt.Large = event.NewLargeBody(d.Receipt.ID, d.Body)
	}
	if d.Receipt.Large != nil {
		d.Body = nil
	}
	return d
}

func (s *Starter) replay(ctx context.Context, d event.DeadLetter, o client.StartWorkflowOptions) (event.Run, error) {
	for range maxStarts {
		run, err := s.client.ExecuteWorkflow(ctx, o, workflows.TypeProcessEvent, d.Receipt, rawPayload(d.Body))
		var started *serviceerror.WorkflowExecutionAlreadyStarted
		var invalid *serviceerror.InvalidArgument
		switch {
		case err == nil:
			return event.Run{WorkflowID: run.GetID(), RunID: run.GetRunID()}, nil
		case errors.As(err, &invalid):
			return event.Run{}, event.Rejectf("not_startable", "replay workflow %s: %s", o.ID, invalid.Message)
		case !errors.As(err, &started):
			return event.Run{}, fmt.Errorf("replay workflow %s: %w", o.ID, err)
		}
		if o.WorkflowIDReusePolicy, err = s.replayPolicy(ctx, d, started.RunId); err != nil {
			return event.Run{}, err
		}
	}
	return event.Run{}, fmt.Errorf("replay workflow %s: %w", o.ID, ErrStartContended)
}

// replayPolicy decides how to replay after the run that has the workflow ID. If that run is open or has processed the event, it
// returns an operation.RunExistsError. A completed run doesn't block the replay in three cases: it was a run of another event, it
// found a duplicate, or the dead letter is its own because the database was restored from a backup.
func (s *Starter) replayPolicy(ctx context.Context, d event.DeadLetter, runID string) (enumspb.WorkflowIdReusePolicy, error) {
	const afterFailure = enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE_FAILED_ONLY
	exists := &operation.RunExistsError{Run: event.Run{WorkflowID: d.Receipt.WorkflowID(), RunID: runID}}
	earlier, err := s.describe(ctx, exists.Run.WorkflowID, runID)
	if isNotFound(err) {
		return afterFailure, nil // the run was deleted meanwhile
	}
	if err != nil {
		return 0, err
	}
	isOwn := earlier.EventID == d.Receipt.ID
	switch {
	case earlier.State == StateProcessing && runID == d.Run.RunID:
		return afterFailure, s.awaitEnd(ctx, exists)
	case earlier.State == StateProcessing:
		exists.Open, exists.InTheWay = true, !isOwn
		return 0, exists
	case earlier.State == StateDead:
		return afterFailure, nil // the run has ended meanwhile
	case isOwn && runID != d.Run.RunID: // otherwise the database lacks its effects
		result, err := s.result(ctx, exists.Run)
		if err != nil {
			return 0, err
		}
		if result.Outcome == event.OutcomeProcessed || result.Outcome == event.OutcomeIgnored {
			return 0, exists
		}
	}
	return enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE, nil
}

// endTimeout bounds the wait for the end of the run that recorded the dead letter: only one workflow task is left.
const endTimeout = 5 * time.Second

// awaitEnd waits for the end of a run that is about to close.
func (s *Starter) awaitEnd(ctx context.Context, exists *operation.RunExistsError) error {
	limited, cancel := WithTimeout(ctx, endTimeout)
	defer cancel()
	run := exists.Run
	last := s.client.GetWorkflowHistory(
		limited, run.WorkflowID, run.RunID, true, enumspb.HISTORY_EVENT_FILTER_TYPE_CLOSE_EVENT)
	if !last.HasNext() {
		return nil
	}
	_, err := last.Next()
	switch {
	case err == nil || isNotFound(err):
		return nil
	case limited.Err() != nil && ctx.Err() == nil:
		exists.Open, exists.InTheWay = true, true
		return exists
	default:
		return fmt.Errorf("await end of workflow %s: %w", run.WorkflowID, err)
	}
}

// Wake signals the workflow of an operation to read its row, and starts it if it isn't running.
func (s *Starter) Wake(ctx context.Context, kind operation.Kind, id string) error {
	_, err := s.client.SignalWithStartWorkflow(ctx, workflows.OperationID(kind, id), workflows.OperationSignal(kind), nil,
		client.StartWorkflowOptions{
			TaskQueue:             workflows.QueueOperations,
			WorkflowIDReusePolicy: enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
			StaticSummary:         string(kind) + " " + id,
		}, workflows.OperationType(kind), id)
	if err != nil {
		return fmt.Errorf("signal %s %s: %w", kind, id, err)
	}
	return nil
}

// WatchDestination starts the workflow of a failing destination, unless it is running.
func (s *Starter) WatchDestination(ctx context.Context, destinationID int64, name string) error {
	ctx, cancel := WithTimeout(ctx, watchTimeout)
	defer cancel()
	_, err := s.client.ExecuteWorkflow(ctx, client.StartWorkflowOptions{
		ID:                       workflows.DestinationWorkflowID(name),
		TaskQueue:                workflows.QueueOperations,
		WorkflowIDReusePolicy:    enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
		WorkflowIDConflictPolicy: enumspb.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING,
		StaticSummary:            "destination " + escapeMarkdown(name),
	}, workflows.TypeDestinationFailing, workflows.FailingDestination{DestinationID: destinationID, Destination: name})
	if err != nil {
		return fmt.Errorf("start workflow of failing destination %s: %w", name, err)
	}
	return nil
}

const watchTimeout = 5 * time.Second
