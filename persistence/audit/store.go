package audit

import "holdfast/persistence/postgres"

// Store keeps the audit log and the sessions. It is safe for concurrent use.
type Store struct{ db *postgres.DB }

// New makes a Store on a database.
func New(db *postgres.DB) *Store { return &Store{db: db} }
