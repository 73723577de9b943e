package deadletters

import (
	"holdfast/persistence/postgres"
	"holdfast/persistence/writer"
)

// Store stores dead letters and redrives. It is safe for concurrent use.
type Store struct {
	db     *postgres.DB
	writer *writer.Store
}

// New makes a Store that writes events with w.
func New(db *postgres.DB, w *writer.Store) *Store { return &Store{db: db, writer: w} }
