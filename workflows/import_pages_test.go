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

func importIn(state operation.State, read int64) operation.Import {
	return operation.Import{Base: operation.Base{ID: "one", State: state}, Read: read}
}

// An import goes on page by page, and is paused in the middle:
//   - it looks again when a signal comes
//   - its result are the counts of its row
func TestImportPages_worksToItsEnd(t *testing.T) {
	env := pagedOperation(t)
	env.OnActivity("ImportPage", mock.Anything, "one").Return(importIn(operation.Running, 20), nil).Twice()
	env.OnActivity("ImportPage", mock.Anything, "one").Return(importIn(operation.Paused, 40), nil).Once()
	env.OnActivity("ImportPage", mock.Anything, "one").Return(importIn(operation.Completed, 60), nil).Once()
	env.RegisterDelayedCallback(func() { env.SignalWorkflow(workflows.OperationSignal(operation.KindImport), nil) }, 10*time.Second)
	start := env.Now()
	env.ExecuteWorkflow(workflows.TypeImportPages, "one")
	require.NoError(t, env.GetWorkflowError())
	require.Equal(t, 10*time.Second, env.Now().Sub(start).Round(time.Second))
	var i operation.Import
	require.NoError(t, env.GetWorkflowResult(&i))
	require.EqualValues(t, 60, i.Read)
	env.AssertExpectations(t)
}

// Its workflow is canceled in Temporal:
//   - so is the import
func TestImportPages_canBeCanceledInTemporal(t *testing.T) {
	env := pagedOperation(t)
	env.OnActivity("ImportPage", mock.Anything, "one").Return(importIn(operation.Paused, 20), nil)
	env.OnActivity("CancelImport", mock.Anything, "one").Return(nil).Once()
	env.RegisterDelayedCallback(env.CancelWorkflow, 10*time.Second)
	env.ExecuteWorkflow(workflows.TypeImportPages, "one")
	require.True(t, temporal.IsCanceledError(env.GetWorkflowError()))
	env.AssertExpectations(t)
}
