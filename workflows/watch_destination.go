package workflows

import (
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"holdfast/activities/background"
	"holdfast/delivery"
)

// Pauses between two checks of a failing destination: short at first, then long. An update ends them early.
const (
	earlyInterval = time.Minute
	lateInterval  = 5 * time.Minute
	earlyChecks   = 10
)

// FailingDestination is the input of WatchDestination. Since, Notified and Checks are set when a run continues as new.
type FailingDestination struct {
	DestinationID int64     `json:"destination_id"`
	Destination   string    `json:"destination"`
	Since         time.Time `json:"since,omitzero"`
	Notified      alert     `json:"notified,omitempty"`
	Checks        int       `json:"checks,omitempty"`
}

// WatchResult says how the failure ended: recovered, disabled, resumed (by an operator) or deleted.
type WatchResult struct {
	Outcome string    `json:"outcome"`
	Since   time.Time `json:"since,omitzero"`
}

// WatchUpdate is the argument of an update.
type WatchUpdate struct {
	// By is the operator, for the audit log.
	By     string `json:"by"`
	Reason string `json:"reason,omitempty"`
}

// Limits in bytes.
const maxUpdateBy, maxUpdateReason = 100, 500

// watch is the state of one run.
type watch struct {
	FailingDestination

	// updated is set by an update since the last check.
	updated bool
}

// WatchDestination watches a failing destination. It notifies operators with increasing urgency, accepts updates (pause,
// resume, probe), and has the destination disabled if it keeps failing. It doesn't deliver anything, and all state is in the
// database: if the workflow is terminated, it is started again within a minute.
func WatchDestination(ctx workflow.Context, in FailingDestination) (WatchResult, error) {
	w := &watch{FailingDestination: in}
	if err := w.handleUpdates(ctx); err != nil {
		return WatchResult{}, err
	}
	for n := 0; !isLong(ctx, n); n++ {
		outcome, pause, err := w.check(ctx)
		if err != nil {
			return WatchResult{}, err
		}
		if outcome != "" {
			return WatchResult{outcome, w.Since}, awaitUpdateHandlers(ctx)
		}
		if _, err := workflow.AwaitWithTimeout(ctx, pause, func() bool { return w.updated }); err != nil {
			return WatchResult{}, err
		}
	}
	if err := awaitUpdateHandlers(ctx); err != nil {
		return WatchResult{}, err
	}
	return WatchResult{}, continueAsNew(ctx, TypeDestinationFailing, w.FailingDestination)
}

// check reads the state of the destination, sends a due notification, and returns the outcome or when to check again.
func (w *watch) check(ctx workflow.Context) (outcome string, pause time.Duration, err error) {
	w.updated = false
	var check background.DestinationCheck
	err = workflow.ExecuteActivity(withOperationOptions(ctx, "check"),
		operate.CheckDestination, w.DestinationID).Get(ctx, &check)
	if err != nil {
		return "", 0, err
	}
	outcome, notify, over := outcomeOf(check, w.Since)
	if over {
		if w.Notified == "" {
			return outcome, 0, nil // operators weren't notified of the failure
		}
		return outcome, 0, w.notify(ctx, notify, check)
	}
	w.Checks++
	c, now := check.Condition, workflow.Now(ctx)
	w.Since = *c.FailingSince
	pause = lateInterval
	if w.Checks <= earlyChecks {
		pause = earlyInterval
	}
	if c.State == delivery.DestinationPaused {
		return "", pause, nil
	}
	next, at := alertAt(w.Since, time.Duration(check.DisableAfter), now)
	if next.level() > w.Notified.level() {
		if err := w.notify(ctx, next, check); err != nil {
			return "", 0, err
		}
	}
	if until := at.Sub(now); until > 0 {
		pause = min(pause, until)
	}
	return "", pause, nil
}

func (w *watch) notify(ctx workflow.Context, what alert, check background.DestinationCheck) error {
	if what == "" {
		return nil
	}
	w.Notified = what
	return workflow.ExecuteActivity(withOperationOptions(ctx, "notify"),
		operate.NotifyAboutDestination, background.DestinationNotification{
			WorkflowID: DestinationWorkflowID(w.Destination), Code: string(what),
			Text: alertText(what, w.Destination, check.Condition, time.Duration(check.DisableAfter)),
		}).Get(ctx, nil)
}

// handleUpdates registers the updates with which operators pause, resume or probe the destination.
func (w *watch) handleUpdates(ctx workflow.Context) error {
	for _, update := range []struct {
		name string
		to   delivery.DestinationState
	}{{UpdatePause, delivery.DestinationPaused}, {UpdateResume, delivery.DestinationReady}, {UpdateProbe, ""}} {
		handler := func(ctx workflow.Context, u WatchUpdate) (c delivery.Condition, err error) {
			err = workflow.ExecuteActivity(withRequestOptions(ctx, update.name),
				operate.UpdateDestination, background.DestinationUpdate{
					DestinationID: w.DestinationID, To: update.to, By: u.By, Reason: u.Reason,
				}).Get(ctx, &c)
			w.updated = true
			return c, err
		}
		options := workflow.UpdateHandlerOptions{Validator: validateUpdate}
		if err := workflow.SetUpdateHandlerWithOptions(ctx, update.name, handler, options); err != nil {
			return err
		}
	}
	return nil
}

func validateUpdate(u WatchUpdate) error {
	if u.By == "" || len(u.By) > maxUpdateBy || len(u.Reason) > maxUpdateReason {
		return temporal.NewApplicationError(
			`use {"by": "your name", "reason": "…"}; by: 1 to 100 bytes, reason: up to 500`, "InvalidUpdate")
	}
	return nil
}

// awaitUpdateHandlers waits for running update handlers.
func awaitUpdateHandlers(ctx workflow.Context) error {
	return workflow.Await(ctx, func() bool { return workflow.AllHandlersFinished(ctx) })
}
