package changes

import "holdfast/persistence/postgres"

// Store stores the change feed. It is safe for concurrent use.
type Store struct{ db *postgres.DB }

// New makes one on a database.
func New(db *postgres.DB) *Store { return &Store{db: db} }
