package workflows

import (
	"errors"
	"strconv"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"holdfast/activities"
	"holdfast/event"
)

// died is the detail of the error that a run fails with.
type died struct {
	event.Failure

	DeadLetterID int64 `json:"dead_letter_id,omitempty"`
}

// DeadLetterID is the number of the dead letter that the error of a run names; 0 if it names none.
func DeadLetterID(err error) int64 {
	var application *temporal.ApplicationError
	var detail died
	if !errors.As(err, &application) || application.Type() != ErrorDeadLettered || application.Details(&detail) != nil {
		return 0
	}
	return detail.DeadLetterID
}

// deadLetter records the event and gives the error that the run fails with. It is nil where nothing is kept of the event:
// recorded says why. It works on a context of its own, so that a canceled run is recorded too.
func deadLetter(ctx workflow.Context, in input, failed event.Failure) (recorded activities.Recorded, err error) {
	ctx, cancel := workflow.NewDisconnectedContext(ctx)
	defer cancel()
	record := in.record(ctx, failed)
	err = workflow.ExecuteActivity(withDeadLetterLane(ctx), record.activity, record.args...).Get(ctx, &recorded)
	if err != nil || recorded.Verdict != nil || recorded.DuplicateOf != "" {
		return recorded, err // an error only an operator who fails the activity by hand gets here
	}
	if recorded.Owner != "" && isVersioned(ctx, versionFailAsOwner) {
		becomes(ctx, &in.receipt, recorded.Owner)
	}
	reportDeadLetter(ctx, in.receipt, failed)
	message := string(failed.Step) + " " + string(failed.Class) + ": " + failed.Message
	if recorded.DeadLetterID != 0 { // an older worker may have recorded it
		message = "dead letter " + strconv.FormatInt(recorded.DeadLetterID, 10) + ": " + message
	}
	return recorded, temporal.NewApplicationErrorWithOptions(message, ErrorDeadLettered,
		temporal.ApplicationErrorOptions{NonRetryable: true, Details: []any{died{failed, recorded.DeadLetterID}}})
}
