package workflows

import (
	"go.temporal.io/sdk/workflow"

	"holdfast/event/operation"
)

// RebuildEntities reads the events of one rebuild again, page by page. Its row in rebuilds is what it obeys.
func RebuildEntities(ctx workflow.Context, id string) (operation.Rebuild, error) {
	return workThrough(ctx, pagedOperation{
		workflow: TypeRebuildEntities, signal: SignalRebuildChanged, page: operate.RebuildPage, cancel: operate.CancelRebuild,
	}, id, func(r operation.Rebuild) rest { return restIn(r.State) })
}
