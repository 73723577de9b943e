package persistence_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"os"
	"testing"
	"time"

	"github.com/google/uuid"
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
	ada, admin = persistencetest.Ada, persistencetest.Admin
	connect    = persistencetest.Connect
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
	_, err := d.Writer.Write(ctx, event.EntitiesOnly, r, nil, p, run)
	return err
}

// process runs the persist and upsert steps of an event.
func (d *database) process(r event.Receipt, p event.Parsed) {
	d.t.Helper()
	persisted, err := d.Writer.Write(d.t.Context(), event.RowOnly, r, body, p, runOf(r))
	require.NoError(d.t, err)
	require.False(d.t, persisted.Duplicate)
	require.NoError(d.t, d.UpsertEntities(d.t.Context(), r, p, runOf(r)))
}

var (
	body = []byte(`{"id": "evt_1",  "data": {"n": 1.10}}`)
	noon = time.Date(2025, 11, 21, 12, 0, 0, 0, time.UTC)
)

// receipt returns a new event with its own key.
func receipt() event.Receipt {
	id := uuid.Must(uuid.NewV7()).String()
	return event.Receipt{
		ID: id, Provider: "acme", Key: "evt_" + rand.Text(), KeyFrom: event.KeyFromEvent, Type: "thing.changed",
		ReceivedAt: noon, Headers: map[string]string{"user-agent": "test"}, RequestID: "req_1",
	}
}

func parsed(changes ...event.Change) event.Parsed {
	return event.Parsed{Type: "thing.changed", OccurredAt: noon, Outcome: event.OutcomeProcessed, Changes: changes}
}

func snapshot(id, state string) event.Change {
	return event.Change{Kind: "thing", ExternalID: id, Op: event.OpSnapshot, State: json.RawMessage(state)}
}

func patch(id, state string) event.Change {
	return event.Change{Kind: "thing", ExternalID: id, Op: event.OpPatch, State: json.RawMessage(state)}
}

func thing(id string) event.EntityRef {
	return event.EntityRef{Provider: "acme", Kind: "thing", ExternalID: id}
}

func runOf(r event.Receipt) event.Run {
	return event.Run{WorkflowID: r.WorkflowID(), RunID: uuid.NewSHA1(uuid.Nil, []byte(r.ID)).String()}
}

func anotherRun(r event.Receipt) event.Run {
	return event.Run{WorkflowID: r.WorkflowID(), RunID: uuid.NewString()}
}

func pointer[T any](v T) *T { return &v }

// incompressible returns a text of n characters that an index can't compress.
func incompressible(n int) (s string) {
	for len(s) < n {
		s += rand.Text()
	}
	return s[:n]
}
