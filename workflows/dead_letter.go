package workflows

import (
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"holdfast/event"
)

// deadLetter records the event and gives the error that the run fails with, or the verdict on the event if there is one. It works
// on a context of its own, so that a canceled run is recorded too.
func deadLetter(
	ctx workflow.Context, receipt event.Receipt, body converter.RawValue, failed event.Failure,
) (verdict *event.Verdict, err error) {
	ctx, cancel := workflow.NewDisconnectedContext(ctx)
	defer cancel()
	err = workflow.ExecuteActivity(withDeadLetterLane(ctx), do.RecordDeadLetter, receipt, failed, body).Get(ctx, &verdict)
	if err != nil || verdict != nil {
		return verdict, err // an error only an operator who fails the activity by hand gets here
	}
	reportDeadLetter(ctx, receipt, failed)
	message := string(failed.Step) + " " + string(failed.Class) + ": " + failed.Message
	return nil, temporal.NewApplicationErrorWithOptions(message, ErrorDeadLettered,
		temporal.ApplicationErrorOptions{NonRetryable: true, Details: []any{failed}})
}
