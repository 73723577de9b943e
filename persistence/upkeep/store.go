package upkeep

import (
	"sync/atomic"

	"holdfast/persistence/entities"
	"holdfast/persistence/postgres"
	"holdfast/persistence/writer"
)

// Store purges and expunges data. It is safe for concurrent use.
type Store struct {
	db       *postgres.DB
	writer   *writer.Store
	entities *entities.Store
	// purgedTo is the last event that a purge has removed; nil if the next one begins at the oldest.
	purgedTo atomic.Pointer[string]
}

// New makes a Store that writes events with w and folds entities with e.
func New(db *postgres.DB, w *writer.Store, e *entities.Store) *Store {
	return &Store{db: db, writer: w, entities: e}
}
