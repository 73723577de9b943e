package entities

import (
	"cmp"

	"holdfast/persistence/postgres"
)

// Config says how entities are folded. The zero value is the production setting.
type Config struct {
	// LinksPerCheckpoint is the number of changes between two checkpoints of an entity; 0 means 64.
	LinksPerCheckpoint int64
}

// Store folds entities. It is safe for concurrent use.
type Store struct {
	db *postgres.DB
	// every is Config.LinksPerCheckpoint.
	every int64
}

// New makes one on a database.
func New(db *postgres.DB, cfg Config) *Store {
	return &Store{db: db, every: cmp.Or(cfg.LinksPerCheckpoint, linksPerCheckpoint)}
}
