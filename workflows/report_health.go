package workflows

import (
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"holdfast/activities/operations"
)

const (
	// tellTries is how often a report is sent until a channel takes it, over twelve hours.
	tellTries = 24
	tellPause = 30 * time.Minute
	// countTries is for how long a report is counted until that succeeds, less and less often: it is much to count.
	countTries = tellTries * tellPause
)

// ReportHealth tells people what a day or a week has brought. A schedule starts it once a period, wherever workers run. A report
// that no channel has taken is sent again; one that a worker has died with may have arrived, and is not: the run fails, as one
// does that nobody was told of.
func ReportHealth(ctx workflow.Context) (told operations.Told, err error) {
	var text string
	lane := workflow.WithHeartbeatTimeout(withOperationLane(ctx, "count"), 0) // a count shows no progress
	lane = workflow.WithScheduleToCloseTimeout(workflow.WithRetryPolicy(lane, temporal.RetryPolicy{
		InitialInterval: transientInterval, BackoffCoefficient: transientCoefficient, MaximumInterval: tellPause,
	}), countTries)
	err = workflow.ExecuteActivity(lane, upkeep.WriteReport, workflow.Now(ctx).UTC()).Get(ctx, &text)
	if err != nil || text == "" {
		return told, err
	}
	for range tellTries {
		told = operations.Told{} // what a result leaves out would stay
		err = workflow.ExecuteActivity(withSingleLane(ctx, "tell"), upkeep.TellReport, text).Get(ctx, &told)
		if err != nil || told.Channels > 0 {
			return told, err
		}
		if err = workflow.Sleep(ctx, tellPause); err != nil {
			return told, err
		}
	}
	return told, temporal.NewApplicationError("no channel has taken the report: "+told.Error, "untold")
}
