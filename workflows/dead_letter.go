package workflows

import (
	"errors"
	"strconv"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"holdfast/activities"
	"holdfast/event"
)

// failureDetail is the detail of the error that a run fails with.
type failureDetail struct {
	event.Failure

	DeadLetterID int64 `json:"dead_letter_id,omitempty"`
}

// DeadLetterID returns the dead letter ID in the error of a run; 0 if it has none.
func DeadLetterID(err error) int64 {
	var application *temporal.ApplicationError
	var detail failureDetail
	if !errors.As(err, &application) || application.Type() != ErrorDeadLettered || application.Details(&detail) != nil {
		return 0
	}
	return detail.DeadLetterID
}

// deadLetter records the dead letter and returns the error that the run fails with. The error is nil if no dead letter was
// created; recorded says why. It uses a disconnected context, so that a canceled run is recorded, too.
func deadLetter(ctx workflow.Context, in input, failed event.Failure) (recorded activities.Recorded, err error) {
	ctx, cancel := workflow.NewDisconnectedContext(ctx)
	defer cancel()
	record := in.record(failed)
	err = workflow.ExecuteActivity(withDeadLetterOptions(ctx), record.activity, record.args...).Get(ctx, &recorded)
	if err != nil || recorded.Decision != nil || recorded.DuplicateOf != "" {
		return recorded, err // err is set only if an operator fails the activity manually
	}
	if recorded.Owner != "" {
		takeOver(ctx, &in.receipt, recorded.Owner)
	}
	reportDeadLetter(ctx, in.receipt, failed)
	message := string(failed.Step) + " " + string(failed.Class) + ": " + failed.Message
	if recorded.DeadLetterID != 0 { // 0 if it couldn't be read
		message = "dead letter " + strconv.FormatInt(recorded.DeadLetterID, 10) + ": " + message
	}
	return recorded, temporal.NewApplicationErrorWithOptions(message, ErrorDeadLettered,
		temporal.ApplicationErrorOptions{NonRetryable: true, Details: []any{failureDetail{failed, recorded.DeadLetterID}}})
}
