package workflows

import (
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"holdfast/activities"
	"holdfast/event"
)

// BatchResult is the result of a batch.
type BatchResult = activities.BatchResult

// ProcessBatch processes events of the bulk lane, up to limit in each transaction. The activity claims events in the inbox; they
// stay there until the transaction commits. So no events are lost if a run fails, is terminated or is reset; a new attempt claims
// whatever is in the inbox by then.
//
// The result of the run has only counts; the result of the activity lists the events.
func ProcessBatch(ctx workflow.Context, limit int) (BatchResult, error) {
	started := workflow.Now(ctx)
	var result BatchResult
	batch := step{
		name: event.StepBatch, summary: "parse, persist and upsert of a batch",
		policy: defaultPolicy(), eventID: workflow.GetInfo(ctx).WorkflowExecution.ID,
	}
	if failed := batch.run(ctx, &result, invocation{do.ProcessInboxBatch, []any{limit}}); failed != nil {
		message := string(failed.Step) + " " + string(failed.Class) + ": " + failed.Message
		return result, temporal.NewApplicationErrorWithOptions(message, ErrorBatchFailed,
			temporal.ApplicationErrorOptions{NonRetryable: true, Details: []any{failed}})
	}
	result.Events = nil
	reportBatch(ctx, result, workflow.Now(ctx).Sub(started))
	return result, nil
}
