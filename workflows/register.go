package workflows

import (
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
)

// Register makes the workflows known to a worker or a replayer.
func Register(registry worker.WorkflowRegistry) {
	for name, definition := range map[string]any{
		TypeProcessEvent:       ProcessEvent,
		TypeProcessBatch:       ProcessBatch,
		TypeRedriveDeadLetters: RedriveDeadLetters,
		TypeRebuildEntities:    RebuildEntities,
		TypeRedriveDue:         RedriveDue,
		TypeSweepRuns:          SweepRuns,
		TypePurgeExpired:       PurgeExpired,
		TypeNotify:             Notify,
	} {
		registry.RegisterWorkflowWithOptions(definition, workflow.RegisterOptions{Name: name})
	}
}
