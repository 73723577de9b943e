package workflows

import (
	"go.temporal.io/sdk/workflow"

	"holdfast/activities/operations"
)

// Notify reports new failures to operators. A schedule starts it and skips it while the previous run is open. The activity marks
// reported failures, so that a crash neither loses nor repeats them endlessly.
func Notify(ctx workflow.Context) (operations.Digest, error) {
	var digest operations.Digest
	activityCtx := workflow.WithHeartbeatTimeout(withOperationOptions(ctx, "digest"), 0) // sending doesn't heartbeat
	err := workflow.ExecuteActivity(activityCtx, upkeep.SendDigest).Get(ctx, &digest)
	return digest, err
}
