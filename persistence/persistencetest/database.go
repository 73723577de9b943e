// Package persistencetest gives the tests of a package below persistence a migrated database with the whole store, and what they
// put into it: the tests are next to the package that they test, and use all stores from the outside.
package persistencetest

import (
	"context"
	"flag"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"holdfast/event"
	"holdfast/event/oversight"
	"holdfast/internal/devstack/stacktest"
	"holdfast/migrations"
	"holdfast/persistence"
)

// atOnce is how many tests run in parallel unless -parallel is set: half of their time is spent in PostgreSQL.
const atOnce = "4"

// Cluster is the PostgreSQL of the package's tests, whose template has all tables. It is nil with -short.
var Cluster *stacktest.Cluster

// Main runs the tests of a package. It returns the exit code for os.Exit.
func Main(m *testing.M) int {
	if err := flag.Set("test.parallel", atOnce); err != nil {
		panic(err)
	}
	return stacktest.Main(m, func() (err error) {
		if Cluster, err = stacktest.StartCluster(); err != nil {
			return err
		}
		return Cluster.Template(func(url string) error { return migrations.Up(context.Background(), url) })
	})
}

// The operators who do what the audit log then has.
var (
	Ada   = oversight.Actor{Name: "ada", Role: "operator", RequestID: "req_7", Reason: "the sender was wrong"}
	Admin = oversight.Actor{Name: "grace", Role: "admin"}
)

// Database is a migrated database of one test, with a store.
type Database struct {
	*persistence.Store
	T      testing.TB
	URL    string
	Config persistence.Config
	SQL    *pgx.Conn // of the test itself
}

// Open creates a database that ends with the test. change may set the store's options.
func Open(t testing.TB, change ...func(*persistence.Config)) *Database {
	t.Helper()
	return OpenURL(t, Cluster.Database(t), change...)
}

// OpenURL is Open for a database that exists.
func OpenURL(t testing.TB, url string, change ...func(*persistence.Config)) *Database {
	t.Helper()
	cfg := persistence.Config{URL: url, MaxConns: 10}
	for _, c := range change {
		c(&cfg)
	}
	store, err := persistence.Open(t.Context(), cfg)
	require.NoError(t, err)
	t.Cleanup(store.Close)
	return &Database{Store: store, T: t, URL: url, Config: cfg, SQL: Connect(t, url)}
}

// Another opens the database's store a second time, as another process does.
func (d *Database) Another() *Database {
	d.T.Helper()
	store, err := persistence.Open(d.T.Context(), d.Config)
	require.NoError(d.T, err)
	d.T.Cleanup(store.Close)
	return &Database{Store: store, T: d.T, URL: d.URL, Config: d.Config, SQL: d.SQL}
}

// Connect opens a connection that ends with the test.
func Connect(t testing.TB, url string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

// Value returns the only value of a query.
func Value[T any](d *Database, query string, args ...any) (v T) {
	d.T.Helper()
	require.NoError(d.T, d.SQL.QueryRow(d.T.Context(), query, args...).Scan(&v))
	return v
}

// Exec runs a statement.
func (d *Database) Exec(statement string, args ...any) {
	d.T.Helper()
	_, err := d.SQL.Exec(d.T.Context(), statement, args...)
	require.NoError(d.T, err)
}

// Status returns the status of an event.
func (d *Database) Status(id string) event.Status {
	d.T.Helper()
	record, err := d.Read.Event(d.T.Context(), id)
	require.NoError(d.T, err)
	return record.Status
}

// Audited returns the actions of the audit log and their objects, newest first.
func (d *Database) Audited() (actions []string) {
	d.T.Helper()
	entries, err := d.Audit.AuditLog(d.T.Context(), oversight.AuditQuery{})
	require.NoError(d.T, err)
	for _, e := range entries {
		actions = append(actions, string(e.Action)+" "+e.Object)
	}
	return actions
}

// OnBlock returns once a session of the store waits for another session.
func (d *Database) OnBlock(by *pgx.Conn) {
	d.T.Helper()
	require.Eventually(d.T, func() bool {
		return Value[int](d, `SELECT count(*) FROM pg_stat_activity WHERE $1::integer = ANY (pg_blocking_pids(pid))`,
			int(by.PgConn().PID())) == 1
	}, 10*time.Second, 10*time.Millisecond)
}

// Second returns the error of a call with one other result.
func Second[T any](_ T, err error) error { return err }
