package workflows

import (
	"go.temporal.io/sdk/workflow"

	"holdfast/event"
)

// ImportPages applies what one import brings, page by page. Its row in imports is what it obeys.
func ImportPages(ctx workflow.Context, id string) (event.Import, error) {
	return workThrough(ctx, operation{
		workflow: TypeImportPages, signal: SignalImportChanged, page: operate.ImportPage, cancel: operate.CancelImport,
	}, id, func(i event.Import) rest { return restIn(i.State) })
}
