package workflows_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"holdfast/event/operation"
	"holdfast/workflows"
)

func rebuildIn(state operation.State, read int64) operation.Rebuild {
	return operation.Rebuild{Base: operation.Base{ID: "one", State: state}, Read: read}
}

// A rebuild goes on page by page, and is paused in the middle:
//   - it looks once a minute, and at once when a signal comes
//   - its result are the counts of its row
func TestRebuildEntities_worksToItsEnd(t *testing.T) {
	env := pagedOperation(t)
	env.OnActivity("RebuildPage", mock.Anything, "one").Return(rebuildIn(operation.Running, 20), nil).Twice()
	env.OnActivity("RebuildPage", mock.Anything, "one").Return(rebuildIn(operation.Paused, 40), nil).Twice()
	env.OnActivity("RebuildPage", mock.Anything, "one").Return(rebuildIn(operation.Completed, 60), nil).Once()
	env.RegisterDelayedCallback(func() { env.SignalWorkflow(workflows.OperationSignal(operation.KindRebuild), nil) }, 70*time.Second)
	start := env.Now()
	env.ExecuteWorkflow(workflows.TypeRebuildEntities, "one")
	require.NoError(t, env.GetWorkflowError())
	require.Equal(t, 70*time.Second, env.Now().Sub(start).Round(time.Second))
	var r operation.Rebuild
	require.NoError(t, env.GetWorkflowResult(&r))
	require.EqualValues(t, 60, r.Read)
	env.AssertExpectations(t)
}

// A rebuild is long:
//   - after 300 turns it continues as new, for the same row
func TestRebuildEntities_continuesAsNew(t *testing.T) {
	env := pagedOperation(t)
	env.OnActivity("RebuildPage", mock.Anything, "one").Return(rebuildIn(operation.Running, 20), nil).Times(300)
	env.ExecuteWorkflow(workflows.TypeRebuildEntities, "one")
	var again *workflow.ContinueAsNewError
	require.ErrorAs(t, env.GetWorkflowError(), &again)
	require.Equal(t, workflows.TypeRebuildEntities, again.WorkflowType.Name)
	env.AssertExpectations(t)
}

// Its workflow is canceled in Temporal:
//   - so is the rebuild
func TestRebuildEntities_canBeCanceledInTemporal(t *testing.T) {
	env := pagedOperation(t)
	env.OnActivity("RebuildPage", mock.Anything, "one").Return(rebuildIn(operation.Paused, 20), nil)
	env.OnActivity("CancelRebuild", mock.Anything, "one").Return(nil).Once()
	env.RegisterDelayedCallback(env.CancelWorkflow, 10*time.Second)
	env.ExecuteWorkflow(workflows.TypeRebuildEntities, "one")
	require.True(t, temporal.IsCanceledError(env.GetWorkflowError()))
	env.AssertExpectations(t)
}
