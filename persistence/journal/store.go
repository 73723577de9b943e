package journal

import "holdfast/persistence/postgres"

// Store writes and reads what is told of the flow beside the events. It is safe for concurrent use.
type Store struct{ db *postgres.DB }

// New makes a Store on a database.
func New(db *postgres.DB) *Store { return &Store{db: db} }
