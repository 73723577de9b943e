package workflows

import (
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"holdfast/activities/operations"
	"holdfast/event/operation"
)

const (
	// operationPages is how many pages a run of an operation does before it continues as new: about an hour's. It does so earlier
	// where the server says that the history is long.
	operationPages = 300
	// pausedLook is the pause between two looks at an operation that is paused. A signal ends it early.
	pausedLook = time.Minute
)

// operate names the activities of operations; the worker's own instance executes them.
var operate *operations.Activities

// RebuildEntities reads the events of one rebuild again, page by page.
func RebuildEntities(ctx workflow.Context, id string) (operation.Rebuild, error) {
	return workThrough(ctx, pagedOperation{operation.KindRebuild, operate.RebuildPage, operate.CancelRebuild}, id,
		restOf[operation.Rebuild])
}

// ResendDeliveries sends the events of one resend, page by page.
func ResendDeliveries(ctx workflow.Context, id string) (operation.Resend, error) {
	return workThrough(ctx, pagedOperation{operation.KindResend, operate.ResendPage, operate.CancelResend}, id,
		restOf[operation.Resend])
}

// ImportPages applies what one import brings, page by page.
func ImportPages(ctx workflow.Context, id string) (operation.Import, error) {
	return workThrough(ctx, pagedOperation{operation.KindImport, operate.ImportPage, operate.CancelImport}, id,
		restOf[operation.Import])
}

// pagedOperation is an operation that works through pages. It obeys its row: paused, resumed or canceled there, it is woken by a
// signal, and would see it without one. So it can be killed, continued as new, terminated and started again at any moment.
type pagedOperation struct {
	kind         operation.Kind
	page, cancel any // activities that take the ID of the row
}

// rest says of a page whether it was the last, and how long to wait before the next; 0 is not at all.
type rest struct {
	ended bool
	pause time.Duration
}

// restOf is the rest of an operation that waits for nothing while it runs.
func restOf[T operation.Any](o T) rest {
	switch state := o.Common().State; {
	case state.Ended():
		return rest{ended: true}
	case state == operation.Paused:
		return rest{pause: pausedLook}
	default:
		return rest{}
	}
}

// workThrough runs an operation until the page that is its last.
func workThrough[T any](ctx workflow.Context, o pagedOperation, id string, restAfter func(T) rest) (page T, err error) {
	changed := workflow.GetSignalChannel(ctx, OperationSignal(o.kind))
	for n := 0; !isLong(ctx, n); n++ {
		for changed.ReceiveAsync(nil) { // the page looks at the row anyway
		}
		page = *new(T)
		err := workflow.ExecuteActivity(withOperationLane(ctx, "page"), o.page, id).Get(ctx, &page)
		switch {
		case ctx.Err() != nil:
			return page, abandon(ctx, o, id)
		case err != nil:
			return page, err // only an operator who fails the activity by hand gets here
		}
		rest := restAfter(page)
		if rest.ended {
			return page, nil
		}
		if rest.pause > 0 {
			changed.ReceiveWithTimeout(ctx, rest.pause, nil)
		}
	}
	for changed.ReceiveAsync(nil) { // the next run looks first
	}
	if err = continueAsNew(ctx, OperationType(o.kind), id); temporal.IsCanceledError(err) {
		return page, abandon(ctx, o, id)
	}
	return page, err
}

// isLong says whether a run that has done n pages should continue as new.
func isLong(ctx workflow.Context, n int) bool {
	return n >= operationPages || workflow.GetInfo(ctx).GetContinueAsNewSuggested()
}

// continueAsNew returns the error that continues a run as new. If the run was canceled, it returns that error instead: the next
// run would not be canceled.
func continueAsNew(ctx workflow.Context, workflowType string, arg any) error {
	if ctx.Err() != nil && isVersioned(ctx, versionKeepCancel) {
		return ctx.Err()
	}
	return workflow.NewContinueAsNewError(ctx, workflowType, arg)
}

// abandon cancels an operation whose workflow was canceled in Temporal, as if it had been canceled in its row. Its counts are
// those of this moment.
func abandon(ctx workflow.Context, o pagedOperation, id string) error {
	canceled := ctx.Err()
	ctx, cancel := workflow.NewDisconnectedContext(ctx)
	defer cancel()
	if err := workflow.ExecuteActivity(withOperationLane(ctx, "cancel"), o.cancel, id).Get(ctx, nil); err != nil {
		return err
	}
	return canceled
}
