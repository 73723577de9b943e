package persistence

import (
	"context"

	"github.com/jackc/pgx/v5/pgxpool"

	"holdfast/persistence/audit"
	"holdfast/persistence/changes"
	"holdfast/persistence/deadletters"
	"holdfast/persistence/entities"
	"holdfast/persistence/errorlog"
	"holdfast/persistence/imports"
	"holdfast/persistence/inbox"
	"holdfast/persistence/ledgers"
	"holdfast/persistence/outbox"
	"holdfast/persistence/postgres"
	"holdfast/persistence/rates"
	"holdfast/persistence/read"
	"holdfast/persistence/rebuilds"
	"holdfast/persistence/subscriptions"
	"holdfast/persistence/upkeep"
	"holdfast/persistence/writer"
)

// What whoever opens a store has to name.
type (
	// Config says which database to use, and what bounds its use.
	Config = postgres.Config
	// Pooling says what stands between a store and PostgreSQL.
	Pooling = postgres.Pooling
	// Facts are what a look at the database tells about it, beside its content.
	Facts = read.Facts
	// InboxWriter commits events to the inbox.
	InboxWriter = inbox.InboxWriter
	// ErrorRecorder writes to the error log behind its callers.
	ErrorRecorder = errorlog.ErrorRecorder
	// DuplicateCounter counts events that came again, behind its callers.
	DuplicateCounter = writer.DuplicateCounter
	// LedgerCheck is a ledger beside the database.
	LedgerCheck = ledgers.LedgerCheck
)

// The kinds of pooling.
const (
	PoolingNone        = postgres.PoolingNone
	PoolingSession     = postgres.PoolingSession
	PoolingTransaction = postgres.PoolingTransaction
)

// The rooms, each under a name of its own.
type (
	folds     = entities.Store
	writes    = writer.Store
	letters   = deadletters.Store
	inboxes   = inbox.Store
	reads     = read.Store
	audits    = audit.Store
	errorlogs = errorlog.Store
	upkeeps   = upkeep.Store
	comparers = ledgers.Store
	outboxes  = outbox.Store
	routes    = subscriptions.Store
	feeds     = changes.Store
	limits    = rates.Store
)

// Store is all that can be asked of the database, and written to it. It is safe for concurrent use.
type Store struct {
	db *postgres.DB
	*folds
	*writes
	*letters
	*inboxes
	*reads
	*audits
	*errorlogs
	*upkeeps
	*comparers
	*outboxes
	*routes
	*feeds
	*limits

	Redrives *deadletters.Redrives
	Rebuilds *rebuilds.Store
	Resends  *subscriptions.Resends
	Imports  *imports.Store
}

// Open makes a Store. It does not connect: the database may be down at start, and come and go afterwards. The only
// error is a URL that cannot be read, or asks for what cannot work.
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
	w := writer.New(db, e, to, writing)
	return &Store{
		db: db, folds: e, writes: w, letters: deadletters.New(db, w), inboxes: inbox.New(db),
		reads: read.New(db), audits: audit.New(db), errorlogs: errorlog.New(db), upkeeps: upkeep.New(db, w, e), comparers: ledgers.New(db), outboxes: o,
		routes: to, feeds: changes.New(db), limits: rates.New(db),
		Redrives: deadletters.NewRedrives(db), Rebuilds: rebuilds.New(db, w), Resends: subscriptions.NewResends(db, to),
		Imports: imports.New(db, w),
	}, nil
}

// Pool is the pool behind the store, for its metrics only.
func (s *Store) Pool() *pgxpool.Pool { return s.db.Pool }

// Ping says whether the database answers.
func (s *Store) Ping(ctx context.Context) error { return s.db.Ping(ctx) }

// TryWrite writes and commits, and keeps nothing. Its error says that the database is read-only or full, for example.
func (s *Store) TryWrite(ctx context.Context) error {
	_, err := s.db.Exec(ctx, "CREATE TEMPORARY TABLE holdfast_write ON COMMIT DROP AS SELECT repeat('x', 8000)")
	return postgres.Failure("try to write", err)
}

// Pooling looks at two connections at a time: if both are answered by the same process, they share it.
func (s *Store) Pooling(ctx context.Context) (Pooling, error) { return s.db.Pooling(ctx) }

// Close waits for the connections in use and closes them all.
func (s *Store) Close() { s.db.Close() }
