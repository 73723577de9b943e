package workflows

import (
	"go.temporal.io/sdk/workflow"

	"holdfast/delivery"
)

// ResendDeliveries sends the events of one resend, page by page. Its row in resends is what it obeys.
func ResendDeliveries(ctx workflow.Context, id string) (delivery.Resend, error) {
	return workThrough(ctx, pagedOperation{
		workflow: TypeResendDeliveries, signal: SignalResendChanged, page: operate.ResendPage, cancel: operate.CancelResend,
	}, id, func(r delivery.Resend) rest { return restIn(r.State) })
}
