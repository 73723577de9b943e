package moving

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/workflowservice/v1"
	sdk "go.temporal.io/sdk/client"
)

// awaitRedrives waits until the schedule has looked twice for dead letters to run again.
func (i *installation) awaitRedrives(t *testing.T) {
	t.Helper()
	c, err := sdk.NewLazyClient(sdk.Options{HostPort: temporal.Address(), Namespace: i.namespace()})
	require.NoError(t, err)
	defer c.Close()
	looks := func() int64 {
		n, err := c.CountWorkflow(context.Background(), &workflowservice.CountWorkflowExecutionsRequest{
			Namespace: i.namespace(), Query: "WorkflowType = 'RedriveDue' AND ExecutionStatus = 'Completed'",
		})
		require.NoError(t, err)
		return n.GetCount()
	}
	first := looks()
	eventually(t, "the schedule has looked twice", func() error {
		if n := looks(); n < first+2 {
			return fmt.Errorf("it has looked %d times", n-first)
		}
		return nil
	})
}
