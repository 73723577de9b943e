package workflows_test

import (
	"testing"

	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"

	"holdfast/event/operation"
	"holdfast/workflows"
)

// Whichever step of a sweep fails, each later one that doesn't need it still runs, and the sweep fails with all reasons.
func TestSweepRuns_goesOnAfterAFailedStep(t *testing.T) {
	for _, failing := range [][]string{
		{"SweepClosedRuns"}, {"SweepUnfinished"}, {"SweepAccepted"}, {"SweepOpenRuns"}, {"ReleaseReplays"}, {"SignalReplays"},
		{"SweepClosedRuns", "SweepAccepted", "SignalReplays"},
	} {
		env := sweep(t)
		fails := map[string]error{}
		for _, step := range failing {
			fails[step] = temporal.NewNonRetryableApplicationError(step+" failed", "failed", nil)
		}
		env.OnActivity("SweepClosedRuns", mock.Anything, mock.Anything).Return(operation.SweptPage{}, fails["SweepClosedRuns"]).Once()
		if fails["SweepClosedRuns"] == nil {
			env.OnActivity("SweepUnfinished", mock.Anything, mock.Anything).Return(operation.SweptRows{}, fails["SweepUnfinished"]).Once()
		}
		env.OnActivity("SweepAccepted", mock.Anything).Return(0, fails["SweepAccepted"]).Once()
		env.OnActivity("SweepOpenRuns", mock.Anything, mock.Anything).Return(map[string]int{}, fails["SweepOpenRuns"]).Once()
		env.OnActivity("ReleaseReplays", mock.Anything).Return(0, fails["ReleaseReplays"]).Once()
		env.OnActivity("SignalReplays", mock.Anything).Return(0, fails["SignalReplays"]).Once()
		env.ExecuteWorkflow(workflows.TypeSweepRuns)
		for _, step := range failing {
			require.ErrorContains(t, env.GetWorkflowError(), step+" failed")
		}
		env.AssertExpectations(t)
	}
}
