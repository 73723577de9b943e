package workflows

import (
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"holdfast/activities/background"
	"holdfast/event/operation"
)

const (
	// operationPages is the max number of pages before a run continues as new, after about an hour. A run with a long history
	// continues earlier.
	operationPages = 300
	// pausedPollInterval is the pause between two reads of a paused operation. A signal ends it early.
	pausedPollInterval = time.Minute
)

// operate provides the activity names of operations.
var operate *background.Activities

// RebuildEntities runs one rebuild, page by page.
func RebuildEntities(ctx workflow.Context, id string) (operation.Rebuild, error) {
	return workThrough(ctx, pagedOperation{operation.KindRebuild, operate.RebuildPage, operate.CancelRebuild}, id,
		afterPageOf[operation.Rebuild])
}

// ResendDeliveries runs one resend, page by page.
func ResendDeliveries(ctx workflow.Context, id string) (operation.Resend, error) {
	return workThrough(ctx, pagedOperation{operation.KindResend, operate.ResendPage, operate.CancelResend}, id,
		afterPageOf[operation.Resend])
}

// ImportPages runs one import, page by page.
func ImportPages(ctx workflow.Context, id string) (operation.Import, error) {
	return workThrough(ctx, pagedOperation{operation.KindImport, operate.ImportPage, operate.CancelImport}, id,
		afterPageOf[operation.Import])
}

// RecoverEvents runs one recovery, page by page. A problem of the provider makes it wait.
func RecoverEvents(ctx workflow.Context, id string) (operation.Recovery, error) {
	return workThrough(ctx, pagedOperation{operation.KindRecovery, operate.RecoveryPage, operate.CancelRecovery}, id,
		func(r operation.Recovery) afterPage {
			if wait := r.RetryAt.Sub(workflow.Now(ctx)); r.State == operation.Running && wait > 0 {
				return afterPage{pause: wait}
			}
			return afterPageOf(r)
		})
}

// RecoverDue starts the recoveries of all lists, and returns their IDs. A schedule starts it.
func RecoverDue(ctx workflow.Context) (started []string, err error) {
	err = workflow.ExecuteActivity(withOperationOptions(ctx, "due"), operate.RecoverDue).Get(ctx, &started)
	return started, err
}

// pagedOperation is an operation that works in pages. Its row in the database has its state; a signal only shortens the wait for
// a change. So the workflow can be terminated and started again at any moment.
type pagedOperation struct {
	kind         operation.Kind
	page, cancel any // activities with the ID as their argument
}

// afterPage says what follows a page: the end of the operation, or another page after a pause.
type afterPage struct {
	ended bool
	pause time.Duration
}

// afterPageOf is for operations that wait only while they are paused.
func afterPageOf[T operation.Any](o T) afterPage {
	switch state := o.Common().State; {
	case state.Ended():
		return afterPage{ended: true}
	case state == operation.Paused:
		return afterPage{pause: pausedPollInterval}
	default:
		return afterPage{}
	}
}

// workThrough runs an operation to its end.
func workThrough[T any](ctx workflow.Context, o pagedOperation, id string, after func(T) afterPage) (page T, err error) {
	changed := workflow.GetSignalChannel(ctx, OperationSignal(o.kind))
	for n := 0; !isLong(ctx, n); n++ {
		for changed.ReceiveAsync(nil) { // the page reads the row anyway
		}
		page = *new(T)
		err := workflow.ExecuteActivity(withOperationOptions(ctx, "page"), o.page, id).Get(ctx, &page)
		switch {
		case ctx.Err() != nil:
			return page, cancelOperation(ctx, o, id)
		case err != nil:
			return page, err // only if an operator fails the activity manually
		}
		then := after(page)
		if then.ended {
			return page, nil
		}
		if then.pause > 0 {
			changed.ReceiveWithTimeout(ctx, then.pause, nil)
		}
	}
	for changed.ReceiveAsync(nil) { // the next run reads the row first
	}
	if err = continueAsNew(ctx, OperationType(o.kind), id); temporal.IsCanceledError(err) {
		return page, cancelOperation(ctx, o, id)
	}
	return page, err
}

// isLong reports whether a run with n pages should continue as new.
func isLong(ctx workflow.Context, n int) bool {
	return n >= operationPages || workflow.GetInfo(ctx).GetContinueAsNewSuggested()
}

// continueAsNew returns the error that continues a run as new, or the cancellation error if the run was canceled, since the
// next run would not be canceled.
func continueAsNew(ctx workflow.Context, workflowType string, arg any) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return workflow.NewContinueAsNewError(ctx, workflowType, arg)
}

// cancelOperation cancels an operation whose workflow was canceled in Temporal.
func cancelOperation(ctx workflow.Context, o pagedOperation, id string) error {
	canceled := ctx.Err()
	ctx, cancel := workflow.NewDisconnectedContext(ctx)
	defer cancel()
	if err := workflow.ExecuteActivity(withOperationOptions(ctx, "cancel"), o.cancel, id).Get(ctx, nil); err != nil {
		return err
	}
	return canceled
}
