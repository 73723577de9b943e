package workflows

import (
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"holdfast/activities"
	"holdfast/event"
)

// BatchResult is what became of the events of a batch.
type BatchResult = activities.BatchResult

// ProcessBatch processes events of the bulk lane, up to limit in a transaction, and ends. Which ones it takes is decided where it
// takes them: they wait in the inbox until their transaction commits, so a run that fails, is terminated or reset loses none, and
// one that is run again takes what waits by then. What became of each event stands in the result of the one step.
//
// The result of the run has the numbers only, so that the history holds the list once.
func ProcessBatch(ctx workflow.Context, limit int) (BatchResult, error) {
	started := workflow.Now(ctx)
	var result BatchResult
	batch := step{
		name: event.StepBatch, about: "parse, persist and upsert of a batch",
		policy: defaultPolicy(), eventID: workflow.GetInfo(ctx).WorkflowExecution.ID,
	}
	if failed := batch.run(ctx, &result, call{do.ProcessInboxBatch, []any{limit}}); failed != nil {
		message := string(failed.Step) + " " + string(failed.Class) + ": " + failed.Message
		return result, temporal.NewApplicationErrorWithOptions(message, ErrorBatchFailed,
			temporal.ApplicationErrorOptions{NonRetryable: true, Details: []any{failed}})
	}
	result.Events = nil
	reportBatch(ctx, result, workflow.Now(ctx).Sub(started))
	return result, nil
}
