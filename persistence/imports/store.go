package imports

import (
	"holdfast/event/operation"
	"holdfast/persistence/operations"
	"holdfast/persistence/postgres"
	"holdfast/persistence/writer"
)

// Store stores imports, and runs their pages. It is safe for concurrent use.
type Store struct {
	operations.Table[operation.Import]

	writer *writer.Store
}

// New makes a Store that writes events with w.
func New(db *postgres.DB, w *writer.Store) *Store {
	return &Store{operations.Table[operation.Import]{
		DB: db, Kind: operation.KindImport, Columns: `name, total, read, counts, problems`, Scan: scanImport,
	}, w}
}
