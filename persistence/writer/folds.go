package writer

import (
	"cmp"

	"holdfast/persistence/postgres"
)

// FoldConfig says how entities are folded. The zero value is the one for production.
type FoldConfig struct {
	// LinksPerCheckpoint is how many changes there are from one checkpoint of an entity to the next; 0 means 64.
	LinksPerCheckpoint int64
}

// Folds folds entities. It is safe for concurrent use.
type Folds struct {
	db *postgres.DB
	// every is Config.LinksPerCheckpoint.
	every int64
}

// NewFolds makes one on a database.
func NewFolds(db *postgres.DB, cfg FoldConfig) *Folds {
	return &Folds{db: db, every: cmp.Or(cfg.LinksPerCheckpoint, linksPerCheckpoint)}
}
