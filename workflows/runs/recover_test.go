package runs

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"google.golang.org/protobuf/types/known/timestamppb"

	"holdfast/event"
	"holdfast/workflows"
)

// busyKey is a Temporal in which an event with the same key has been in process since then.
type busyKey struct {
	client.Client

	since time.Time
}

func (busyKey) ExecuteWorkflow(context.Context, client.StartWorkflowOptions, any, ...any) (client.WorkflowRun, error) {
	return nil, serviceerror.NewWorkflowExecutionAlreadyStarted("taken", "", "run")
}

func (b busyKey) DescribeWorkflowExecution(
	context.Context, string, string,
) (*workflowservice.DescribeWorkflowExecutionResponse, error) {
	return &workflowservice.DescribeWorkflowExecutionResponse{WorkflowExecutionInfo: &workflowpb.WorkflowExecutionInfo{
		Type: &commonpb.WorkflowType{Name: workflows.TypeProcessEvent}, Status: enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING,
		StartTime: timestamppb.New(b.since),
	}}, nil
}

// An event whose key is busy with one of another dedupe window is here: it must not hold up the recovery until that one has
// ended, which may take an operator.
func TestABusyKeyHoldsUpNoRecovery(t *testing.T) {
	t.Parallel()
	now := time.Now()
	s := NewStarter(busyKey{since: now.Add(-48 * time.Hour)}, converter.GetDefaultDataConverter())
	r := event.Receipt{ID: "1", Provider: "acme", Key: "k", ReceivedAt: now, DedupeWindow: event.Duration(time.Hour)}
	_, err := s.Start(t.Context(), r, nil, true)
	require.ErrorIs(t, err, ErrKeyBusy)
	isNew, err := s.Recover(t.Context(), r, nil)
	require.NoError(t, err)
	require.False(t, isNew)
}
