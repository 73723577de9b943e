package ledgers

import "holdfast/persistence/postgres"

// Store compares what is stored with what was sent. It is safe for concurrent use.
type Store struct{ db *postgres.DB }

// New makes a Store on a database.
func New(db *postgres.DB) *Store { return &Store{db: db} }
