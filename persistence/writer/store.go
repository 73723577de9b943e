package writer

import (
	"cmp"
	"time"

	"holdfast/persistence/entities"
	"holdfast/persistence/postgres"
	"holdfast/persistence/subscriptions"
)

// Config bounds the writer. The zero value is the production setting.
type Config struct {
	// Waiters is how many events at once may wait for taken locks; 0 means 4, less than 0 none.
	Waiters int
	// FoldFor bounds how long a group or a batch folds entities for out-of-order events, which leave it after that; 0 means 500 ms.
	FoldFor time.Duration
	// PageSize is how many changes of an event a transaction writes; 0 means 500.
	PageSize int
}

// Store writes events. It is safe for concurrent use.
type Store struct {
	db            *postgres.DB
	entities      *entities.Store
	subscriptions *subscriptions.Store
	group         *group
	foldFor       time.Duration
	pageSize      int
}

// New makes a Store that folds entities with e and routes events with to.
func New(db *postgres.DB, e *entities.Store, to *subscriptions.Store, cfg Config) *Store {
	s := &Store{
		db: db, entities: e, subscriptions: to, foldFor: cmp.Or(cfg.FoldFor, defaultFoldFor),
		pageSize: cmp.Or(cfg.PageSize, defaultPageSize),
	}
	s.group = newGroup(s, max(cmp.Or(cfg.Waiters, maxAlone), 0))
	return s
}
