package upkeep

import (
	"sync/atomic"

	"holdfast/persistence/entities"
	"holdfast/persistence/postgres"
	"holdfast/persistence/writer"
)

// Store removes what is old, or must not be kept. It is safe for concurrent use.
type Store struct {
	db       *postgres.DB
	writer   *writer.Store
	entities *entities.Store
	// purgedTo is the last event that a purge has removed; nil where the next one begins at the oldest.
	purgedTo atomic.Pointer[string]
}

// New makes a Store on a database, beside those that write its events and fold its entities.
func New(db *postgres.DB, w *writer.Store, e *entities.Store) *Store {
	return &Store{db: db, writer: w, entities: e}
}
