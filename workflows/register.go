package workflows

import (
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
)

// Register makes the workflows known to a worker or a replayer.
func Register(registry worker.WorkflowRegistry) {
	registry.RegisterWorkflowWithOptions(ProcessEvent, workflow.RegisterOptions{Name: TypeProcessEvent})
}
