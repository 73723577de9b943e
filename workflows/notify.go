package workflows

import (
	"go.temporal.io/sdk/workflow"

	"holdfast/activities/operations"
)

// Notify tells people what has failed since the last time. A schedule starts it, and skips it while the one before still
// works. What is told is claimed on the failures themselves, so that no crash makes it forget any, nor tell it without end.
func Notify(ctx workflow.Context) (operations.Digest, error) {
	var digest operations.Digest
	lane := workflow.WithHeartbeatTimeout(withOperationLane(ctx, "digest"), 0) // a slow channel shows no progress
	err := workflow.ExecuteActivity(lane, upkeep.SendDigest).Get(ctx, &digest)
	return digest, err
}
