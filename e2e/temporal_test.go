package e2e

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	sdk "go.temporal.io/sdk/client"
	"google.golang.org/protobuf/types/known/durationpb"

	"holdfast/event"
	"holdfast/internal/devstack/stacktest"
)

// createNamespace creates a namespace for one test and waits until all of the server has it.
func createNamespace(t *testing.T, temporal temporalServer) string {
	t.Helper()
	name := strings.ReplaceAll(uniqueID("test"), "_", "-")
	namespaces, err := sdk.NewNamespaceClient(sdk.Options{HostPort: temporal.Address()})
	require.NoError(t, err)
	defer namespaces.Close()
	eventually(t, time.Minute, "the namespace is made", func() error {
		err := namespaces.Register(context.Background(), &workflowservice.RegisterNamespaceRequest{
			Namespace:                        name,
			WorkflowExecutionRetentionPeriod: durationpb.New(24 * time.Hour),
		})
		if _, exists := errors.AsType[*serviceerror.NamespaceAlreadyExists](err); exists {
			return nil // the answer to the previous call was lost
		}
		return err
	})
	c, err := sdk.NewLazyClient(sdk.Options{HostPort: temporal.Address(), Namespace: name})
	require.NoError(t, err)
	defer c.Close()
	eventually(t, time.Minute, "the namespace is known", func() error {
		_, err := c.CountWorkflow(context.Background(), &workflowservice.CountWorkflowExecutionsRequest{Namespace: name})
		return err
	})
	t.Cleanup(func() { deleteSchedules(t, temporal, name) })
	return name
}

// deleteSchedules deletes schedules that would fire every second for the server's lifetime: after eighty tests, schedules of
// the next one began fourteen seconds late.
func deleteSchedules(t *testing.T, temporal temporalServer, namespace string) {
	t.Helper()
	ctx := context.Background()
	c, err := sdk.NewLazyClient(sdk.Options{HostPort: temporal.Address(), Namespace: namespace})
	require.NoError(t, err)
	defer c.Close()
	// A server under load loses a namespace for a moment, while it reloads all of them.
	eventually(t, time.Minute, "schedules are deleted", func() error {
		schedules, err := c.ScheduleClient().List(ctx, sdk.ScheduleListOptions{})
		if err != nil {
			return err
		}
		for schedules.HasNext() {
			schedule, err := schedules.Next()
			if err != nil {
				return err
			}
			var gone *serviceerror.NotFound
			if err := c.ScheduleClient().GetHandle(ctx, schedule.ID).Delete(ctx); err != nil && !errors.As(err, &gone) {
				return err
			}
		}
		return nil
	})
}

// dial returns a client of the installation's namespace.
func (i *installation) dial(t *testing.T) sdk.Client {
	t.Helper()
	c, err := sdk.Dial(sdk.Options{HostPort: i.temporal(), Namespace: i.namespace})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}

// describe reads the latest run of a workflow.
func (i *installation) describe(t *testing.T, workflowID string) *workflow.WorkflowExecutionInfo {
	t.Helper()
	response, err := i.dial(t).DescribeWorkflowExecution(context.Background(), workflowID, "")
	require.NoError(t, err)
	return response.GetWorkflowExecutionInfo()
}

// awaitStatus waits until the latest run of a workflow has the status.
func (i *installation) awaitStatus(t *testing.T, workflowID string, want enumspb.WorkflowExecutionStatus) {
	t.Helper()
	c := i.dial(t)
	eventually(t, 30*time.Second, fmt.Sprintf("%s is %s", workflowID, want), func() error {
		response, err := c.DescribeWorkflowExecution(context.Background(), workflowID, "")
		if err != nil {
			return err
		}
		if got := response.GetWorkflowExecutionInfo().GetStatus(); got != want {
			return fmt.Errorf("it is %s", got)
		}
		return nil
	})
}

// history reads all events of the latest run of a workflow.
func (i *installation) history(t *testing.T, workflowID string) []*historypb.HistoryEvent {
	t.Helper()
	return i.historyOf(t, event.Run{WorkflowID: workflowID})
}

// historyOf reads all events of a run; of the latest if it has no ID.
func (i *installation) historyOf(t *testing.T, run event.Run) []*historypb.HistoryEvent {
	t.Helper()
	var events []*historypb.HistoryEvent
	pages := i.dial(t).GetWorkflowHistory(context.Background(), run.WorkflowID, run.RunID, false,
		enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for pages.HasNext() {
		e, err := pages.Next()
		require.NoError(t, err)
		events = append(events, e)
	}
	return events
}

// runTool runs temporal or tctl like an operator, and fails the test unless it succeeds.
func (i *installation) runTool(t *testing.T, name string, args ...string) string {
	t.Helper()
	program := filepath.Join(root, "bin", name)
	if name == "temporal" {
		var err error
		program, err = stacktest.TemporalBinary()
		require.NoError(t, err)
	}
	command := exec.Command(program, args...)
	command.Env = append(command.Environ(),
		"TEMPORAL_ADDRESS="+i.temporal(), "TEMPORAL_NAMESPACE="+i.namespace,
		"TEMPORAL_CLI_ADDRESS="+i.temporal(), "TEMPORAL_CLI_NAMESPACE="+i.namespace)
	out, err := command.CombinedOutput()
	require.NoError(t, err, "%s %v: %s", name, args, out)
	return string(out)
}
