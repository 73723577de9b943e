package runs

import (
	"context"
	"fmt"
	"time"

	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
)

// Namespace is Holdfast's Temporal namespace.
type Namespace struct {
	Client client.Client
	Name   string
}

// Retention returns how long Temporal keeps a closed run, which can be read and reset until then.
func (n Namespace) Retention(ctx context.Context) (time.Duration, error) {
	described, err := n.Client.WorkflowService().DescribeNamespace(ctx, &workflowservice.DescribeNamespaceRequest{Namespace: n.Name})
	if err != nil {
		return 0, fmt.Errorf("read the retention of namespace %s: %w", n.Name, err)
	}
	return described.GetConfig().GetWorkflowExecutionRetentionTtl().AsDuration(), nil
}
