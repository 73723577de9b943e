package writer

import (
	"cmp"
	"time"

	"holdfast/persistence/entities"
	"holdfast/persistence/postgres"
	"holdfast/persistence/subscriptions"
)

// Config bounds the writer. The zero value is the one for production.
type Config struct {
	// Waiters is how many events at once wait for locks that somebody holds; 0 means 4, and less than 0 none.
	Waiters int
	// FoldFor bounds how long a group or a batch folds entities for events that come late, which then leave it; 0 means 500 ms.
	FoldFor time.Duration
}

// Store writes events. It is safe for concurrent use.
type Store struct {
	db            *postgres.DB
	entities      *entities.Store
	subscriptions *subscriptions.Store
	group         *group
	foldFor       time.Duration
}

// New makes a Store on a database, beside the one that folds its entities and the one that knows where events go.
func New(db *postgres.DB, e *entities.Store, to *subscriptions.Store, cfg Config) *Store {
	s := &Store{db: db, entities: e, subscriptions: to, foldFor: cmp.Or(cfg.FoldFor, defaultFoldFor)}
	s.group = newGroup(s, max(cmp.Or(cfg.Waiters, maxAlone), 0))
	return s
}
