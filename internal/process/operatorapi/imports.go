package operatorapi

import (
	"context"

	"holdfast/event/operation"
	"holdfast/operator/api"
	"holdfast/operator/launch"
	"holdfast/persistence"
	"holdfast/persistence/imports"
	"holdfast/providers"
)

func (s Side) importer(store *persistence.Store) *api.Importer {
	return &api.Importer{
		Operations: launch.NewImports(store.Imports, s.Starter), Store: imported{store.Imports, s}, Compared: store.Imports,
		Definitions: func() (func(string) (*providers.Provider, bool), error) {
			if s.Unreadable != nil {
				return s.lookup, s.Unreadable() // without them, keys would be wrong
			}
			return s.lookup, nil
		},
	}
}

// imported tries items with the current definitions.
type imported struct {
	*imports.Store

	side Side
}

func (i imported) TryImport(ctx context.Context, items []operation.ImportItem) (
	operation.ImportCounts, []operation.ImportProblem, error,
) {
	return i.Store.TryImport(ctx, items, providers.Parser(i.side.lookup))
}
