package persistence_test

import (
	"context"
	"crypto/rand"
	"os"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"holdfast/event"
	"holdfast/persistence"
	"holdfast/persistence/entities"
	"holdfast/persistence/persistencetest"
	"holdfast/persistence/writer"
)

func TestMain(m *testing.M) { os.Exit(persistencetest.Main(m)) }

// database is a migrated database for one test, with a store, and a connection for the test itself.
type database struct {
	*persistence.Store
	t   testing.TB
	url string
	cfg persistence.Config
	sql *pgx.Conn
}

func open(t testing.TB, change ...func(*persistence.Config)) *database {
	t.Helper()
	return of(persistencetest.Open(t, change...))
}

func openURL(t testing.TB, url string, change ...func(*persistence.Config)) *database {
	t.Helper()
	return of(persistencetest.OpenURL(t, url, change...))
}

func of(d *persistencetest.Database) *database {
	return &database{Store: d.Store, t: d.T, url: d.URL, cfg: d.Config, sql: d.SQL}
}

// shared is the database as tests of other packages see it.
func (d *database) shared() *persistencetest.Database {
	return &persistencetest.Database{Store: d.Store, T: d.t, URL: d.url, Config: d.cfg, SQL: d.sql}
}

// writeAs opens the store again, with other bounds of the writer.
func (d *database) writeAs(folding entities.Config, writing writer.Config) {
	d.t.Helper()
	store, err := persistence.OpenWriting(d.t.Context(), d.cfg, folding, writing)
	require.NoError(d.t, err)
	d.t.Cleanup(store.Close)
	d.Store = store
}

// CheckpointEvery sets the number of changes between two checkpoints of an entity.
func (d *database) CheckpointEvery(n int64) {
	d.writeAs(entities.Config{LinksPerCheckpoint: n}, writer.Config{})
}

var (
	ada, admin        = persistencetest.Ada, persistencetest.Admin
	body, noon        = persistencetest.Body, persistencetest.Noon
	connect           = persistencetest.Connect
	receipt, sameKey  = persistencetest.Receipt, persistencetest.SameKey
	runOf, anotherRun = persistencetest.RunOf, persistencetest.AnotherRun
	parsed, thing     = persistencetest.Parsed, persistencetest.Thing
	snapshot, patch   = persistencetest.Snapshot, persistencetest.Patch
	deadLetter, died  = persistencetest.DeadLetter, persistencetest.Died
	all               = persistencetest.SettleAll
)

func value[T any](d *database, query string, args ...any) (v T) {
	d.t.Helper()
	return persistencetest.Value[T](d.shared(), query, args...)
}

func (d *database) exec(statement string, args ...any) {
	d.t.Helper()
	d.shared().Exec(statement, args...)
}

// onBlock returns once a session of the store waits for another session.
func (d *database) onBlock(by *pgx.Conn) {
	d.t.Helper()
	d.shared().OnBlock(by)
}

func (d *database) another() *database {
	d.t.Helper()
	return of(d.shared().Another())
}

func (d *database) status(id string) event.Status {
	d.t.Helper()
	return d.shared().Status(id)
}

func (d *database) audited() []string {
	d.t.Helper()
	return d.shared().Audited()
}

// UpsertEntities calls the store's, for tests without changes that arrive too late.
func (d *database) UpsertEntities(ctx context.Context, r event.Receipt, p event.Parsed, run event.Run) error {
	return d.shared().UpsertEntities(ctx, r, p, run)
}

// process runs the persist and upsert steps of an event.
func (d *database) process(r event.Receipt, p event.Parsed) {
	d.t.Helper()
	d.shared().Process(r, p)
}

func (d *database) record(letter event.DeadLetter) {
	d.t.Helper()
	d.shared().Record(letter)
}

func (d *database) deadLetterOf(r event.Receipt) event.DeadLetter {
	d.t.Helper()
	return d.shared().DeadLetterOf(r)
}

// take claims a dead letter for a replay.
func (d *database) take(id int64) {
	d.t.Helper()
	require.NoError(d.t, d.shared().Claim(id))
}

func (d *database) spool(lane event.Lane, n int) []event.Receipt {
	d.t.Helper()
	return d.shared().Spool(lane, n)
}

func (d *database) copied(delay time.Duration) event.Receipt {
	d.t.Helper()
	return d.shared().Copied(delay)
}

func (d *database) conflicts() []event.Conflict {
	d.t.Helper()
	return d.shared().Conflicts()
}

func pointer[T any](v T) *T { return &v }

// incompressible returns a text of n characters that an index can't compress.
func incompressible(n int) (s string) {
	for len(s) < n {
		s += rand.Text()
	}
	return s[:n]
}
