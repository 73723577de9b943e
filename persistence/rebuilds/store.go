package rebuilds

import (
	"holdfast/persistence/postgres"
	"holdfast/persistence/writer"
)

// Store keeps rebuilds, and does their pages. It is safe for concurrent use.
type Store struct {
	db     *postgres.DB
	writer *writer.Store
}

// New makes a Store on a database, beside the one that writes events.
func New(db *postgres.DB, w *writer.Store) *Store { return &Store{db: db, writer: w} }
