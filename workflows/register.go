package workflows

import (
	"maps"
	"slices"

	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
)

const stays, goesOver = workflow.VersioningBehaviorPinned, workflow.VersioningBehaviorAutoUpgrade

// registered are the workflows by type. Where workers have versions, a run stays with the build that has begun it; one that may
// go on for days goes over to the next build, so that it keeps no old one alive.
var registered = map[string]struct {
	definition any
	build      workflow.VersioningBehavior
}{
	TypeProcessEvent:       {ProcessEvent, stays},
	TypeProcessBatch:       {ProcessBatch, stays},
	TypeRedriveDeadLetters: {RedriveDeadLetters, goesOver},
	TypeRebuildEntities:    {RebuildEntities, goesOver},
	TypeResendDeliveries:   {ResendDeliveries, goesOver},
	TypeImportPages:        {ImportPages, goesOver},
	TypeReceiverInTrouble:  {ReceiverInTrouble, goesOver},
	TypeRedriveDue:         {RedriveDue, stays},
	TypeSweepRuns:          {SweepRuns, stays},
	TypePurgeExpired:       {PurgeExpired, stays},
	TypeNotify:             {Notify, stays},
	TypeReportHealth:       {ReportHealth, goesOver},
}

// Register makes the workflows known to a worker or a replayer.
func Register(registry worker.WorkflowRegistry) {
	for name, w := range registered {
		registry.RegisterWorkflowWithOptions(w.definition, workflow.RegisterOptions{Name: name, VersioningBehavior: w.build})
	}
}

// Types returns the workflow types that Register registers, sorted.
func Types() []string { return slices.Sorted(maps.Keys(registered)) }
