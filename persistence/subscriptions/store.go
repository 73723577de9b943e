package subscriptions

import (
	"golang.org/x/sync/singleflight"

	"holdfast/persistence/outbox"
	"holdfast/persistence/postgres"
)

// Config configures a Store. Its zero value stores secrets in clear, and resolves no variables.
type Config struct {
	Sealer  Sealer
	Secrets func(name string) []string
	// Reserved reports whether a variable is Holdfast's own; nil reserves none.
	Reserved func(name string) bool
}

// Sealer encrypts secrets, and decrypts them.
type Sealer = postgres.Sealer

// Store stores destinations and subscriptions. It is safe for concurrent use.
type Store struct {
	db     *postgres.DB
	outbox *outbox.Store
	cfg    Config
	known  *known
	looks  singleflight.Group
}

// New makes a Store that queues deliveries with o.
func New(db *postgres.DB, o *outbox.Store, cfg Config) *Store {
	return &Store{db: db, outbox: o, cfg: cfg, known: newKnown()}
}
