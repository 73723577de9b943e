package main

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/testsuite"
)

func TestTheWorkflowHandlesAnEvent(t *testing.T) {
	var suite testsuite.WorkflowTestSuite
	env := suite.NewTestWorkflowEnvironment()
	env.RegisterActivity(Fulfill)
	env.ExecuteWorkflow(OrderWorkflow, Envelope{ID: "01a2", Provider: "events", Type: "order.paid", Data: json.RawMessage(`{}`)})
	require.True(t, env.IsWorkflowCompleted())
	require.NoError(t, env.GetWorkflowError())
	var done string
	require.NoError(t, env.GetWorkflowResult(&done))
	require.Equal(t, "handled events order.paid", done)
}
