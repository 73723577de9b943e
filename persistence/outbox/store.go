package outbox

import (
	"sync/atomic"

	"holdfast/persistence/postgres"
)

// Store stores deliveries. It is safe for concurrent use.
type Store struct {
	db     *postgres.DB
	wakes  chan struct{}
	due    madeDue
	lost   lostLeases
	limits knownLimits
	depth  depth
	lead   lead
	// isIdle means that nothing was due within maxLeaseInterval, and that no signal has come since.
	isIdle atomic.Bool
}

// New makes a Store on a database.
func New(db *postgres.DB) *Store { return &Store{db: db, wakes: make(chan struct{}, 1)} }

// Wakes returns a channel that receives a value whenever this process has made deliveries due.
func (s *Store) Wakes() <-chan struct{} { return s.wakes }
