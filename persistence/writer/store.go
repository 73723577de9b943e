package writer

import (
	"cmp"

	"holdfast/persistence/postgres"
)

// Config bounds the writer. The zero value is the one for production.
type Config struct {
	// LinksPerCheckpoint is how many changes there are from one checkpoint of an entity to the next; 0 means 64.
	LinksPerCheckpoint int64
	// Waiters is how many events at once wait for locks that somebody holds; 0 means 4, and less than 0 none.
	Waiters int
}

// Store writes events. It is safe for concurrent use.
type Store struct {
	db    *postgres.DB
	group *group
	// every is Config.LinksPerCheckpoint.
	every int64
}

// New makes a Store on a database.
func New(db *postgres.DB, cfg Config) *Store {
	s := &Store{db: db, every: cmp.Or(cfg.LinksPerCheckpoint, linksPerCheckpoint)}
	s.group = newGroup(s, max(cmp.Or(cfg.Waiters, maxAlone), 0))
	return s
}
