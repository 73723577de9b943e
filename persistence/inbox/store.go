package inbox

import "holdfast/persistence/postgres"

// Store stores events that wait to be started. It is safe for concurrent use.
type Store struct{ db *postgres.DB }

// New makes a Store on a database.
func New(db *postgres.DB) *Store { return &Store{db: db} }
