package workflows

import (
	"go.temporal.io/sdk/workflow"

	"holdfast/activities/background"
)

// ObserveFields adds new events to what is known of the fields of their types. A schedule starts it.
func ObserveFields(ctx workflow.Context) (seen background.Observation, err error) {
	err = workflow.ExecuteActivity(withOperationOptions(ctx, "fields"), operate.ObserveFields).Get(ctx, &seen)
	return seen, err
}
