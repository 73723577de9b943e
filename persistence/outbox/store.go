package outbox

import (
	"context"
	"sync/atomic"
	"time"

	"holdfast/delivery"
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

	// OrderKey returns the order key of a delivery that is sent again, "" if it isn't ordered; package subscriptions sets it.
	OrderKey func(ctx context.Context, t *postgres.Transaction, k delivery.Key) (string, error)

	sorts        chan struct{}
	horizonPause time.Duration
	// headlessAfter is the last key that FreeHeadless has read.
	headlessAfter string
}

// New makes a Store on a database.
func New(db *postgres.DB) *Store {
	return &Store{db: db, wakes: make(chan struct{}, 1), sorts: make(chan struct{}, 1)}
}

// Wakes returns a channel that receives a value whenever this process has made deliveries due.
func (s *Store) Wakes() <-chan struct{} { return s.wakes }
