package rebuilds

import (
	"github.com/jackc/pgx/v5"

	"holdfast/event/operation"
	"holdfast/persistence/operations"
	"holdfast/persistence/postgres"
	"holdfast/persistence/writer"
)

// Store stores rebuilds, and runs their pages. It is safe for concurrent use.
type Store struct {
	operations.Table[operation.Rebuild]

	writer *writer.Store
}

// New makes a Store that writes events with w.
func New(db *postgres.DB, w *writer.Store) *Store {
	return &Store{operations.Table[operation.Rebuild]{
		DB: db, Kind: operation.KindRebuild, Columns: rebuildColumns,
		Scan: func(row pgx.Row) (operation.Rebuild, error) { r, err := scanRebuild(row); return r.Rebuild, err },
	}, w}
}
