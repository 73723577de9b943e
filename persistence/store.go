package persistence

import (
	"context"

	"github.com/jackc/pgx/v5/pgxpool"

	"holdfast/persistence/audit"
	"holdfast/persistence/changes"
	"holdfast/persistence/deadletters"
	"holdfast/persistence/decisions"
	"holdfast/persistence/duplicates"
	"holdfast/persistence/entities"
	"holdfast/persistence/errorlog"
	"holdfast/persistence/eventtypes"
	"holdfast/persistence/fetches"
	"holdfast/persistence/imports"
	"holdfast/persistence/inbox"
	"holdfast/persistence/minutes"
	"holdfast/persistence/observed"
	"holdfast/persistence/outbox"
	"holdfast/persistence/postgres"
	"holdfast/persistence/rates"
	"holdfast/persistence/read"
	"holdfast/persistence/rebuilds"
	"holdfast/persistence/recoveries"
	"holdfast/persistence/subscriptions"
	"holdfast/persistence/upkeep"
	"holdfast/persistence/writer"
)

// Types that code needs to open a store.
type (
	// Config selects the database and bounds its use.
	Config = postgres.Config
	// Pooling is the kind of connection pooling between a store and PostgreSQL.
	Pooling = postgres.Pooling
	// Facts describes the database server, not its content.
	Facts = read.Facts
	// Durability describes how the database server protects committed data.
	Durability = read.Durability
	// Standby is a standby of the database server.
	Standby = read.Standby
	// InboxWriter commits events to the inbox.
	InboxWriter = inbox.InboxWriter
	// ErrorRecorder writes to the error log in the background.
	ErrorRecorder = errorlog.ErrorRecorder
	// DuplicateCounter counts duplicate events in the background.
	DuplicateCounter = duplicates.Counter
)

// The kinds of pooling.
const (
	PoolingNone        = postgres.PoolingNone
	PoolingSession     = postgres.PoolingSession
	PoolingTransaction = postgres.PoolingTransaction
)

// Store joins the stores of one database. It is safe for concurrent use.
type Store struct {
	db *postgres.DB

	Audit         *audit.Store
	Changes       *changes.Store
	DeadLetters   *deadletters.Store
	Decisions     *decisions.Store
	Duplicates    *duplicates.Store
	Entities      *entities.Store
	Errors        *errorlog.Store
	EventTypes    *eventtypes.Store
	Fetches       *fetches.Store
	Imports       *imports.Store
	Inbox         *inbox.Store
	Minutes       *minutes.Store
	Observed      *observed.Store
	Outbox        *outbox.Store
	Rates         *rates.Store
	Read          *read.Store
	Rebuilds      *rebuilds.Store
	Recoveries    *recoveries.Store
	Replays       *deadletters.Replays
	Resends       *subscriptions.Resends
	Subscriptions *subscriptions.Store
	Upkeep        *upkeep.Store
	Writer        *writer.Store
}

// Open makes a Store. It does not connect: the database may be down at start, and at any time later. The only error is an invalid
// or unsupported URL.
func Open(ctx context.Context, cfg Config) (*Store, error) {
	return open(ctx, cfg, entities.Config{}, writer.Config{})
}

func open(ctx context.Context, cfg Config, folding entities.Config, writing writer.Config) (*Store, error) {
	db, err := postgres.Open(ctx, cfg)
	if err != nil {
		return nil, err
	}
	e := entities.New(db, folding)
	o := outbox.New(db)
	to := subscriptions.New(db, o, subscriptions.Config{Sealer: cfg.Sealer, Secrets: cfg.Secrets, Reserved: cfg.Reserved})
	d := decisions.New(db, e)
	w := writer.New(db, e, to, writing)
	return &Store{
		db: db, Audit: audit.New(db), Changes: changes.New(db), DeadLetters: deadletters.New(db, d),
		Decisions: d, Duplicates: duplicates.New(db), Entities: e,
		Errors: errorlog.New(db), EventTypes: eventtypes.New(db), Fetches: fetches.New(db), Imports: imports.New(db, w),
		Inbox: inbox.New(db, d), Minutes: minutes.New(db), Observed: observed.New(db), Outbox: o,
		Rates: rates.New(db), Read: read.New(db), Rebuilds: rebuilds.New(db, w),
		Recoveries: recoveries.New(db),
		Replays:    deadletters.NewReplays(db), Resends: subscriptions.NewResends(db, to), Subscriptions: to,
		Upkeep: upkeep.New(db, d, e), Writer: w,
	}, nil
}

// Pool returns the pool, for metrics only.
func (s *Store) Pool() *pgxpool.Pool { return s.db.Pool }

// Ping returns nil if the database answers.
func (s *Store) Ping(ctx context.Context) error { return s.db.Ping(ctx) }

// TryWrite writes and commits without keeping anything. It fails if the database is read-only or full, for example.
func (s *Store) TryWrite(ctx context.Context) error {
	_, err := s.db.Exec(ctx, "CREATE TEMPORARY TABLE holdfast_write ON COMMIT DROP AS SELECT repeat('x', 8000)")
	return postgres.Failure("try to write", err)
}

const tryCommit = `
INSERT INTO commit_checks (at) VALUES (clock_timestamp()) ON CONFLICT (one) DO UPDATE SET at = excluded.at`

// TryCommit commits a small change. It is for the health of a process, which may be asked for often: unlike TryWrite, it creates
// nothing.
func (s *Store) TryCommit(ctx context.Context) error {
	_, err := s.db.Exec(ctx, tryCommit)
	return postgres.Failure("try to commit", err)
}

// Pooling compares two simultaneous connections: if the same server process answers both, they share a session.
func (s *Store) Pooling(ctx context.Context) (Pooling, error) { return s.db.Pooling(ctx) }

// Close waits for the connections in use and closes all connections.
func (s *Store) Close() { s.db.Close() }
