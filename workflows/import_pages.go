package workflows

import (
	"go.temporal.io/sdk/workflow"

	"holdfast/event/operation"
)

// ImportPages applies what one import brings, page by page. Its row in imports is what it obeys.
func ImportPages(ctx workflow.Context, id string) (operation.Import, error) {
	return workThrough(ctx, pagedOperation{
		workflow: TypeImportPages, signal: SignalImportChanged, page: operate.ImportPage, cancel: operate.CancelImport,
	}, id, func(i operation.Import) rest { return restIn(i.State) })
}
