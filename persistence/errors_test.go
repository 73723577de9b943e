package persistence_test

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/event"
	"holdfast/internal/devstack/stacktest"
	"holdfast/persistence"
	"holdfast/persistence/persistencetest"
)

// secret is in every value that reaches the database in these tests, and must be in no error.
const secret = "CANARY"

func persistSecret(ctx context.Context, s *persistence.Store) error {
	r := receipt()
	r.Source, r.RequestID = secret, secret
	_, err := s.Writer.Write(ctx, event.RowOnly, r, []byte(secret), parsed(), runOf(r))
	return err
}

func requireFailure(t *testing.T, err error, class event.Class, code string) {
	t.Helper()
	require.Error(t, err)
	require.Equal(t, code, event.CodeOf(err), err.Error())
	require.Equal(t, class, event.ClassOf(err), err.Error())
	require.NotContains(t, err.Error(), secret)
}

func TestTroubleOfTheDatabaseIsTransient(t *testing.T) {
	t.Parallel()
	short := func(c *persistence.Config) { c.LockTimeout = 50 * time.Millisecond }
	for _, c := range []struct {
		name   string
		config func(*persistence.Config)
		make   func(db *database) // causes the failure
		code   string
	}{
		{"a lock is held", short, lockEvents, "lock_not_available"},
		{"a statement takes too long", func(c *persistence.Config) { c.StatementTimeout = 50 * time.Millisecond },
			lockEvents, "query_canceled"},
		{"the database is read only", func(*persistence.Config) {}, func(db *database) {
			db.exec(`DO $$ BEGIN
				EXECUTE format('ALTER DATABASE %I SET default_transaction_read_only = on', current_database());
			END $$`)
		}, "read_only_sql_transaction"},
		{"the database is gone", func(*persistence.Config) {}, dropDatabase, "connection_failed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			db := open(t, c.config)
			c.make(db)
			requireFailure(t, persistSecret(t.Context(), db.Store), event.ClassTransient, c.code)
		})
	}
}

func lockEvents(db *database) { db.exec(`BEGIN; LOCK TABLE events IN ACCESS EXCLUSIVE MODE`) }

// onLock runs a selection on the one session that waits for a lock, as soon as there is one.
func onLock(t *testing.T, db *database, selection string) {
	t.Helper()
	conn := connect(t, db.url) // a transaction would only see the sessions at its beginning
	require.Eventually(t, func() bool {
		var sessions int
		err := conn.QueryRow(t.Context(), selection+` FROM pg_stat_activity WHERE datname = current_database()
			AND application_name = 'holdfast' AND wait_event_type = 'Lock'`).Scan(&sessions)
		return err == nil && sessions == 1
	}, 10*time.Second, 10*time.Millisecond)
}

func dropDatabase(db *database) {
	name := value[string](db, `SELECT current_database()`)
	_, err := connect(db.t, persistencetest.Cluster.URL("postgres")).Exec(db.t.Context(), "DROP DATABASE "+name+" WITH (FORCE)")
	require.NoError(db.t, err)
}

func TestATerminatedSessionIsTransient(t *testing.T) {
	t.Parallel()
	db := open(t)
	lockEvents(db)
	failed := make(chan error, 1)
	go func() { failed <- persistSecret(t.Context(), db.Store) }()
	onLock(t, db, `SELECT count(pg_terminate_backend(pid))`)
	requireFailure(t, <-failed, event.ClassTransient, "admin_shutdown")

	db.exec(`ROLLBACK`)
	require.NoError(t, persistSecret(t.Context(), db.Store), "the pool has a new connection")
}

func TestAnUnavailableServerIsTransient(t *testing.T) {
	t.Parallel()
	own := stacktest.NewCluster(t)
	store, err := persistence.Open(t.Context(), persistence.Config{URL: own.URL("postgres")})
	require.NoError(t, err)
	t.Cleanup(store.Close)
	require.NoError(t, store.Ping(t.Context()))

	require.NoError(t, own.Stop())
	require.Equal(t, event.ClassTransient, event.ClassOf(store.Ping(t.Context())), "on a connection from before")
	requireFailure(t, store.Ping(t.Context()), event.ClassTransient, "connection_failed")
	lazy, err := persistence.Open(t.Context(), persistence.Config{URL: own.URL("postgres")})
	require.NoError(t, err, "a store opens while its database is down")
	t.Cleanup(lazy.Close)
	requireFailure(t, persistSecret(t.Context(), lazy), event.ClassTransient, "connection_failed")

	require.NoError(t, own.Start())
	require.NoError(t, own.Await(t.Context()))
	require.NoError(t, store.Ping(t.Context()))
	require.NoError(t, lazy.Ping(t.Context()))
}

func TestANetworkThatBreaksIsTransient(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			_ = conn.Close() // in the middle of the greeting
		}
	}()
	address := "postgres://" + secret + "@" + listener.Addr().String() + "/x"
	store, err := persistence.Open(t.Context(), persistence.Config{URL: address})
	require.NoError(t, err)
	t.Cleanup(store.Close)
	requireFailure(t, store.Ping(t.Context()), event.ClassTransient, "connection_failed")
}

func TestAnEndedContextIsTransientAndSaysSo(t *testing.T) {
	t.Parallel()
	db := open(t, func(c *persistence.Config) { c.MaxConns = 1 })
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	err := persistSecret(canceled, db.Store)
	requireFailure(t, err, event.ClassTransient, "canceled")
	require.ErrorIs(t, err, context.Canceled)

	lockEvents(db)
	busy, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- persistSecret(busy, db.Store) }() // occupies the only connection
	onLock(t, db, `SELECT count(pid)`)
	short, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	err = persistSecret(short, db.Store)
	requireFailure(t, err, event.ClassTransient, "deadline_exceeded")
	require.ErrorIs(t, err, context.DeadlineExceeded)
	stop()
	requireFailure(t, <-done, event.ClassTransient, "canceled")
}

func TestAClosedStoreIsTransient(t *testing.T) {
	t.Parallel()
	db := open(t)
	db.Close()
	requireFailure(t, persistSecret(t.Context(), db.Store), event.ClassTransient, "store_closed")
}

func TestAnEventThatBreaksAConstraintIsRejected(t *testing.T) {
	t.Parallel()
	db := open(t)
	r := receipt()
	r.KeyFrom = secret
	_, err := db.Writer.Write(t.Context(), event.RowOnly, r, body, parsed(), runOf(r))
	requireFailure(t, err, event.ClassRejected, "check_violation")
	require.Contains(t, err.Error(), "events_key_from_known")
	require.Equal(t, 0, value[int](db, `SELECT count(*) FROM idempotency_keys`), "a claim goes with its event")

	r = receipt()
	r.ID = secret[:4] + "-is-no-uuid"
	_, err = db.Writer.Write(t.Context(), event.RowOnly, r, body, parsed(), runOf(r))
	require.Equal(t, event.ClassRejected, event.ClassOf(err))
	require.Equal(t, "malformed_id", event.CodeOf(err))
}

func TestAMissingMigrationDoesNotCountAgainstTheEvent(t *testing.T) {
	t.Parallel()
	db := open(t)
	db.exec(`DROP TABLE events`)
	requireFailure(t, persistSecret(t.Context(), db.Store), event.ClassFailed, "undefined_table")
}

func TestAMigrationUnderThePreparedStatementsIsTransient(t *testing.T) {
	t.Parallel()
	db := open(t, func(c *persistence.Config) { c.MaxConns = 1 })
	r := receipt()
	db.process(r, parsed())
	_, err := db.Read.Event(t.Context(), r.ID)
	require.NoError(t, err)
	db.exec(`ALTER TABLE events ALTER COLUMN payload_note TYPE varchar`)
	if _, err = db.Read.Event(t.Context(), r.ID); err != nil {
		require.Equal(t, event.ClassTransient, event.ClassOf(err), err)
	}
	_, err = db.Read.Event(t.Context(), r.ID)
	require.NoError(t, err)
}

func TestAMalformedURLIsNotQuoted(t *testing.T) {
	t.Parallel()
	for _, u := range []string{
		"postgres://u:" + secret + "@[", "host=" + secret + " port=x", "postgres://u:" + secret + "@h:99999999/x",
	} {
		_, err := persistence.Open(t.Context(), persistence.Config{URL: u})
		require.Error(t, err, u)
		require.NotContains(t, err.Error(), secret)
	}
}
