package workflows

import (
	"maps"
	"slices"

	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
)

const pinned, autoUpgrade = workflow.VersioningBehaviorPinned, workflow.VersioningBehaviorAutoUpgrade

// registered maps workflow types to their functions and versioning behavior. With worker versioning, most runs stay on the
// build that started them. Runs that may last for days move to the next build, so that old builds can stop.
var registered = map[string]struct {
	function   any
	versioning workflow.VersioningBehavior
}{
	TypeProcessEvent:       {ProcessEvent, pinned},
	TypeProcessBatch:       {ProcessBatch, pinned},
	TypeReplayDeadLetters:  {ReplayDeadLetters, autoUpgrade},
	TypeRebuildEntities:    {RebuildEntities, autoUpgrade},
	TypeResendDeliveries:   {ResendDeliveries, autoUpgrade},
	TypeImportPages:        {ImportPages, autoUpgrade},
	TypeRecoverEvents:      {RecoverEvents, autoUpgrade},
	TypeRecoverDue:         {RecoverDue, pinned},
	TypeObserveFields:      {ObserveFields, pinned},
	TypeDestinationFailing: {WatchDestination, autoUpgrade},
	TypeReplayDue:          {ReplayDue, pinned},
	TypeSweepRuns:          {SweepRuns, pinned},
	TypePurgeExpired:       {PurgeExpired, pinned},
	TypeNotify:             {Notify, pinned},
	TypeReportHealth:       {ReportHealth, autoUpgrade},
}

// Register registers the workflows with a worker or a replayer.
func Register(registry worker.WorkflowRegistry) {
	for name, w := range registered {
		registry.RegisterWorkflowWithOptions(w.function, workflow.RegisterOptions{Name: name, VersioningBehavior: w.versioning})
	}
}

// Types lists the registered workflow types.
func Types() []string { return slices.Sorted(maps.Keys(registered)) }
