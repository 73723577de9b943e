package workflows_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"

	"holdfast/event/operation"
	"holdfast/workflows"
)

func resendIn(state operation.State, queued int64) operation.Resend {
	return operation.Resend{Base: operation.Base{ID: "one", State: state}, Queued: queued}
}

// A resend goes on page by page, and is paused in the middle:
//   - it looks once a minute, and at once when a signal comes
//   - its result are the counts of its row
func TestResendDeliveries_worksToItsEnd(t *testing.T) {
	env := pagedOperation(t)
	env.OnActivity("ResendPage", mock.Anything, "one").Return(resendIn(operation.Paused, 20), nil).Twice()
	env.OnActivity("ResendPage", mock.Anything, "one").Return(resendIn(operation.Completed, 60), nil).Once()
	env.RegisterDelayedCallback(func() { env.SignalWorkflow(workflows.OperationSignal(operation.KindResend), nil) }, 70*time.Second)
	start := env.Now()
	env.ExecuteWorkflow(workflows.TypeResendDeliveries, "one")
	require.NoError(t, env.GetWorkflowError())
	require.Equal(t, 70*time.Second, env.Now().Sub(start).Round(time.Second))
	var r operation.Resend
	require.NoError(t, env.GetWorkflowResult(&r))
	require.EqualValues(t, 60, r.Queued)
	env.AssertExpectations(t)
}

// Its workflow is canceled in Temporal:
//   - so is the resend
func TestResendDeliveries_canBeCanceledInTemporal(t *testing.T) {
	env := pagedOperation(t)
	env.OnActivity("ResendPage", mock.Anything, "one").Return(resendIn(operation.Paused, 20), nil)
	env.OnActivity("CancelResend", mock.Anything, "one").Return(nil).Once()
	env.RegisterDelayedCallback(env.CancelWorkflow, 10*time.Second)
	env.ExecuteWorkflow(workflows.TypeResendDeliveries, "one")
	require.True(t, temporal.IsCanceledError(env.GetWorkflowError()))
	env.AssertExpectations(t)
}
