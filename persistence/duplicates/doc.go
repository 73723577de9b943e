// Package duplicates stores how many requests repeated an event, their IDs, and the requests with the key of an event and other
// content.
//
// It must not decide which events are duplicates: the writer and the ingress do.
package duplicates

import "holdfast/persistence/postgres"

// Store counts duplicates and records conflicts. It is safe for concurrent use.
type Store struct{ db *postgres.DB }

// New makes a Store.
func New(db *postgres.DB) *Store { return &Store{db} }
