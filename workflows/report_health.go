package workflows

import (
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"holdfast/activities/background"
)

const (
	// sendAttempts is the max number of attempts to send a report, over twelve hours.
	sendAttempts = 24
	sendPause    = 30 * time.Minute
	// compileTimeout bounds the attempts to compile a report. The pauses between them grow, because the queries are expensive.
	compileTimeout = sendAttempts * sendPause
)

// ReportHealth sends the daily or weekly report. A schedule starts it once per period. It retries until a channel accepts the
// report. If a worker dies while sending, the report may have arrived and isn't sent again: the run fails, as it does if no
// channel accepts it.
func ReportHealth(ctx workflow.Context) (sent background.Notification, err error) {
	var text string
	activityCtx := workflow.WithHeartbeatTimeout(withOperationOptions(ctx, "compile report"), 0) // the activity doesn't heartbeat
	activityCtx = workflow.WithScheduleToCloseTimeout(workflow.WithRetryPolicy(activityCtx, temporal.RetryPolicy{
		InitialInterval: transientInterval, BackoffCoefficient: transientCoefficient, MaximumInterval: sendPause,
	}), compileTimeout)
	err = workflow.ExecuteActivity(activityCtx, upkeep.WriteReport, workflow.Now(ctx).UTC()).Get(ctx, &text)
	if err != nil || text == "" {
		return sent, err
	}
	for range sendAttempts {
		sent = background.Notification{} // JSON decoding doesn't clear omitted fields
		err = workflow.ExecuteActivity(withSingleAttempt(ctx, "send"), upkeep.SendReport, text).
			Get(ctx, &sent)
		if err != nil || sent.Channels > 0 {
			return sent, err
		}
		if err = workflow.Sleep(ctx, sendPause); err != nil {
			return sent, err
		}
	}
	return sent, temporal.NewApplicationError("no channel accepted the report: "+sent.Error, "ReportNotSent")
}

// Notify reports new failures to operators. A schedule starts it and skips it while the previous run is open. The activity claims
// failures before it sends them, so that a crash loses none and doesn't repeat them endlessly.
func Notify(ctx workflow.Context) (background.Digest, error) {
	var digest background.Digest
	activityCtx := workflow.WithHeartbeatTimeout(withOperationOptions(ctx, "digest"), 0) // sending doesn't heartbeat
	err := workflow.ExecuteActivity(activityCtx, upkeep.SendDigest).Get(ctx, &digest)
	return digest, err
}
