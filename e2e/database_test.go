package e2e

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
)

// query reads one row of the installation's database.
func (i *installation) query(t *testing.T, sql string, args []any, into ...any) {
	t.Helper()
	require.NoError(t, i.tryQuery(sql, args, into...))
}

func (i *installation) tryQuery(sql string, args []any, into ...any) error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	return i.reading.row(ctx, i.database, sql, args, into...)
}

// reading is the connection over which a test reads its database. To connect takes 10 ms of CPU, a hundred times as much as a query.
type reading struct {
	mu         sync.Mutex
	connection *pgx.Conn
}

// row reads a row, over a new connection if there is none or it turns out to be lost.
func (r *reading) row(ctx context.Context, database, sql string, args []any, into ...any) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.connection != nil {
		err := r.connection.QueryRow(ctx, sql, args...).Scan(into...)
		if !r.connection.IsClosed() {
			return err
		}
	}
	config, err := pgx.ParseConfig(database)
	if err != nil {
		return err
	}
	config.DefaultQueryExecMode = pgx.QueryExecModeDescribeExec // migrations change tables under prepared statements
	if r.connection, err = pgx.ConnectConfig(ctx, config); err != nil {
		r.connection = nil
		return err
	}
	return r.connection.QueryRow(ctx, sql, args...).Scan(into...)
}

func (r *reading) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.connection != nil {
		_ = r.connection.Close(context.Background())
		r.connection = nil
	}
}

// count returns the number from a query.
func (i *installation) count(t *testing.T, sql string, args ...any) (n int) {
	t.Helper()
	i.query(t, sql, args, &n)
	return n
}

// awaitCount waits until the query returns the number.
func (i *installation) awaitCount(t *testing.T, limit time.Duration, want int, sql string, args ...any) {
	t.Helper()
	eventually(t, limit, fmt.Sprintf("%s = %d", sql, want), func() error {
		var got int
		if err := i.tryQuery(sql, args, &got); err != nil {
			return err
		}
		if got != want {
			return fmt.Errorf("it is %d", got)
		}
		return nil
	})
}

const (
	processedEvents = "SELECT count(*) FROM events WHERE status = 'processed'"
	openDeadLetters = "SELECT count(*) FROM dead_letters WHERE state IN ('open', 'replaying')"
)

// lock locks a table against writers until release is called.
func (i *installation) lock(t *testing.T, table string) (release func()) {
	t.Helper()
	return i.hold(t, "LOCK TABLE "+pgx.Identifier{table}.Sanitize()+" IN EXCLUSIVE MODE")
}

// lockEntity locks one entity, which need not exist, until release is called. Writers of other entities aren't affected.
func (i *installation) lockEntity(t *testing.T, provider, kind, externalID string) (release func()) {
	t.Helper()
	return i.hold(t, "INSERT INTO entities (provider, kind, external_id) VALUES ($1, $2, $3)"+
		" ON CONFLICT (provider, kind, external_id) DO UPDATE SET deleted = entities.deleted", provider, kind, externalID)
}

// hold keeps a statement's transaction open, and rolls it back when release is called.
func (i *installation) hold(t *testing.T, sql string, args ...any) (release func()) {
	t.Helper()
	ctx := context.Background()
	connection, err := pgx.Connect(ctx, i.database)
	require.NoError(t, err)
	t.Cleanup(func() { _ = connection.Close(ctx) })
	tx, err := connection.Begin(ctx)
	require.NoError(t, err)
	_, err = tx.Exec(ctx, sql, args...)
	require.NoError(t, err)
	return func() { require.NoError(t, tx.Rollback(ctx)) }
}
