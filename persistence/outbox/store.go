package outbox

import (
	"golang.org/x/sync/singleflight"

	"holdfast/persistence/postgres"
)

// Config is what a Store needs beside its database. Its zero value stores secrets in clear, and knows no variables.
type Config struct {
	Sealer  Sealer
	Secrets func(name string) []string
}

// Sealer encrypts secrets, and decrypts them.
type Sealer = postgres.Sealer

// Store keeps what goes out. It is safe for concurrent use.
type Store struct {
	db     *postgres.DB
	cfg    Config
	known  *known
	looks  singleflight.Group
	wakes  chan struct{}
	due    madeDue
	lost   lostLeases
	limits knownLimits
	depth  depth
}

// New makes a Store on a database.
func New(db *postgres.DB, cfg Config) *Store {
	return &Store{db: db, cfg: cfg, known: newKnown(), wakes: make(chan struct{}, 1)}
}

// Wakes gives a value whenever this process has made deliveries due.
func (s *Store) Wakes() <-chan struct{} { return s.wakes }
