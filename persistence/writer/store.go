package writer

import (
	"cmp"

	"holdfast/persistence/entities"
	"holdfast/persistence/postgres"
	"holdfast/persistence/subscriptions"
)

// Config bounds the writer. The zero value is the one for production.
type Config struct {
	// Waiters is how many events at once wait for locks that somebody holds; 0 means 4, and less than 0 none.
	Waiters int
}

// Store writes events. It is safe for concurrent use.
type Store struct {
	db            *postgres.DB
	entities      *entities.Store
	subscriptions *subscriptions.Store
	group         *group
}

// New makes a Store on a database, beside the one that folds its entities and the one that knows where events go.
func New(db *postgres.DB, e *entities.Store, to *subscriptions.Store, cfg Config) *Store {
	s := &Store{db: db, entities: e, subscriptions: to}
	s.group = newGroup(s, max(cmp.Or(cfg.Waiters, maxAlone), 0))
	return s
}
