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

func recoveryIn(state operation.State, missed int64, retryAt time.Time) operation.Recovery {
	return operation.Recovery{Base: operation.Base{ID: "one", State: state}, Missed: missed, RetryAt: retryAt}
}

// A recovery goes on page by page:
//   - after a problem of the provider it waits as long as the provider asks
//   - its result are the counts of its row
func TestRecoverEvents_worksToItsEnd(t *testing.T) {
	env := pagedOperation(t)
	env.OnActivity("RecoveryPage", mock.Anything, "one").Return(recoveryIn(operation.Running, 1, env.Now().Add(10*time.Minute)), nil).Once()
	env.OnActivity("RecoveryPage", mock.Anything, "one").Return(recoveryIn(operation.Running, 2, time.Time{}), nil).Once()
	env.OnActivity("RecoveryPage", mock.Anything, "one").Return(recoveryIn(operation.Completed, 3, time.Time{}), nil).Once()
	start := env.Now()
	env.ExecuteWorkflow(workflows.TypeRecoverEvents, "one")
	require.NoError(t, env.GetWorkflowError())
	require.Equal(t, 10*time.Minute, env.Now().Sub(start).Round(time.Second))
	var r operation.Recovery
	require.NoError(t, env.GetWorkflowResult(&r))
	require.EqualValues(t, 3, r.Missed)
	env.AssertExpectations(t)
}

// An operator need not wait with the recovery: a signal makes it look at its row.
func TestRecoverEvents_endsItsWaitForASignal(t *testing.T) {
	env := pagedOperation(t)
	env.OnActivity("RecoveryPage", mock.Anything, "one").Return(recoveryIn(operation.Running, 0, env.Now().Add(time.Hour)), nil).Once()
	env.OnActivity("RecoveryPage", mock.Anything, "one").Return(recoveryIn(operation.Canceled, 0, time.Time{}), nil).Once()
	env.RegisterDelayedCallback(func() { env.SignalWorkflow(workflows.OperationSignal(operation.KindRecovery), nil) }, time.Minute)
	start := env.Now()
	env.ExecuteWorkflow(workflows.TypeRecoverEvents, "one")
	require.NoError(t, env.GetWorkflowError())
	require.Equal(t, time.Minute, env.Now().Sub(start).Round(time.Second))
	env.AssertExpectations(t)
}

// Its workflow is canceled in Temporal: so is the recovery.
func TestRecoverEvents_canBeCanceledInTemporal(t *testing.T) {
	env := pagedOperation(t)
	env.OnActivity("RecoveryPage", mock.Anything, "one").Return(recoveryIn(operation.Paused, 0, time.Time{}), nil)
	env.OnActivity("CancelRecovery", mock.Anything, "one").Return(nil).Once()
	env.RegisterDelayedCallback(env.CancelWorkflow, 10*time.Second)
	env.ExecuteWorkflow(workflows.TypeRecoverEvents, "one")
	require.True(t, temporal.IsCanceledError(env.GetWorkflowError()))
	env.AssertExpectations(t)
}
