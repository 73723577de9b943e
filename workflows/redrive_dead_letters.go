package workflows

import (
	"time"

	"go.temporal.io/sdk/workflow"

	"holdfast/event"
)

const (
	// redriveTurns is how many turns a run of a redrive does before it continues as new: about an hour's. It does so earlier where
	// the server says that the history is long.
	redriveTurns = 300
	// The pauses between two looks at a redrive that waits for its last runs, and at one that is paused. A signal ends
	// them early.
	settlingLook = 5 * time.Second
	pausedLook   = time.Minute
)

// RedriveDeadLetters works through one bulk redrive, page by page, until each run that it has started is at its end. Its
// row in redrives is what it obeys: paused, resumed or canceled there, it is told by a signal to look, and would see it
// without one. So it can be killed, continued as new, terminated and started again at any moment.
func RedriveDeadLetters(ctx workflow.Context, id string) (event.Redrive, error) {
	changed := workflow.GetSignalChannel(ctx, SignalRedriveChanged)
	for turn := 0; turn < redriveTurns && !workflow.GetInfo(ctx).GetContinueAsNewSuggested(); turn++ {
		for changed.ReceiveAsync(nil) { // the page looks at the row anyway
		}
		var did event.RedriveTurn
		err := workflow.ExecuteActivity(withOperationLane(ctx, "page"), do.RedrivePage, id).Get(ctx, &did)
		switch {
		case ctx.Err() != nil:
			return abandonRedrive(ctx, id)
		case err != nil:
			return event.Redrive{}, err // only an operator who fails the activity by hand gets here
		case did.Settled:
			return did.Redrive, nil
		case did.Redrive.State == event.RedrivePaused:
			changed.ReceiveWithTimeout(ctx, pausedLook, nil)
		case did.Redrive.State != event.RedriveRunning || did.Drained:
			changed.ReceiveWithTimeout(ctx, settlingLook, nil)
		}
	}
	for changed.ReceiveAsync(nil) { // the next run looks first
	}
	return event.Redrive{}, workflow.NewContinueAsNewError(ctx, TypeRedriveDeadLetters, id)
}

// abandonRedrive cancels a redrive whose workflow was canceled in Temporal, as if it had been canceled in its row. Its
// counts are those of this moment.
func abandonRedrive(ctx workflow.Context, id string) (event.Redrive, error) {
	canceled := ctx.Err()
	ctx, cancel := workflow.NewDisconnectedContext(ctx)
	defer cancel()
	if err := workflow.ExecuteActivity(withOperationLane(ctx, "cancel"), do.CancelRedrive, id).Get(ctx, nil); err != nil {
		return event.Redrive{}, err
	}
	return event.Redrive{}, canceled
}
