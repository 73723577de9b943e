package persistence_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"flag"
	"os"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"holdfast/event"
	"holdfast/internal/devstack/stacktest"
	"holdfast/migrations"
	"holdfast/persistence"
	"holdfast/persistence/entities"
	"holdfast/persistence/writer"
)

var cluster *stacktest.Cluster

// atOnce is how many tests run in parallel unless -parallel is set: half of their time is spent in PostgreSQL.
const atOnce = "4"

func TestMain(m *testing.M) {
	if err := flag.Set("test.parallel", atOnce); err != nil {
		panic(err)
	}
	os.Exit(stacktest.Main(m, func() (err error) {
		if cluster, err = stacktest.StartCluster(); err != nil {
			return err
		}
		return cluster.Template(func(url string) error { return migrations.Up(context.Background(), url) })
	}))
}

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
	return openURL(t, cluster.Database(t), change...)
}

func openURL(t testing.TB, url string, change ...func(*persistence.Config)) *database {
	t.Helper()
	cfg := persistence.Config{URL: url, MaxConns: 10}
	for _, c := range change {
		c(&cfg)
	}
	store, err := persistence.Open(t.Context(), cfg)
	require.NoError(t, err)
	t.Cleanup(store.Close)
	return &database{Store: store, t: t, url: url, cfg: cfg, sql: connect(t, url)}
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

func connect(t testing.TB, url string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

func value[T any](d *database, query string, args ...any) (v T) {
	d.t.Helper()
	require.NoError(d.t, d.sql.QueryRow(d.t.Context(), query, args...).Scan(&v))
	return v
}

func (d *database) exec(statement string, args ...any) {
	d.t.Helper()
	_, err := d.sql.Exec(d.t.Context(), statement, args...)
	require.NoError(d.t, err)
}

func (d *database) status(id string) event.Status {
	d.t.Helper()
	record, err := d.Read.Event(d.t.Context(), id)
	require.NoError(d.t, err)
	return record.Status
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
