package postgres

import (
	"context"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// A commit is durable once the synchronous standby has it, if the server names one (synchronous_standby_names). PostgreSQL has
// two exceptions, which this file handles:
//
//   - A read-only transaction doesn't wait for the standby, although it may have read a commit that the standby doesn't have: one
//     whose wait was cancelled, or interrupted by a crash, is visible all the same. Confirm makes it wait.
//   - A commit whose wait is cancelled succeeds, with a warning. Here it fails, with an unknown outcome. Confirm makes sure that
//     the server sends warnings, also behind a pooler, whose sessions may change after they were checked.

// Confirm makes the transaction wait at its commit for the synchronous standby, for everything that it has read. To do so it
// writes a record to the WAL, not to a table; if no standby is named, it does nothing.
const Confirm = `
SELECT CASE WHEN current_setting('synchronous_standby_names') <> ''
            THEN pg_logical_emit_message(true, 'holdfast', left(set_config('client_min_messages', 'warning', true), 0)) END`

// waitCancelled is the routine in which PostgreSQL warns that a commit didn't wait for the standby
// (src/backend/replication/syncrep.c).
const waitCancelled = "SyncRepWaitForLSN"

// unreplicated is the key under which a connection stores the warning until the end of the statement.
const unreplicated = "holdfast/unreplicated"

// errUnreplicated reports a commit that may not be on the standby.
var errUnreplicated = &pgconn.PgError{
	Severity: "ERROR", Code: "40003", Routine: waitCancelled,
	Message: "the commit's wait for the synchronous standby was cancelled",
}

func noteWarning(c *pgconn.PgConn, n *pgconn.Notice) {
	if n.Routine == waitCancelled {
		c.CustomData()[unreplicated] = true
	}
}

// replicated returns err, or errUnreplicated if a commit didn't wait for the standby.
func replicated(c *pgx.Conn, err error) error {
	data := c.PgConn().CustomData()
	if data[unreplicated] == nil {
		return err
	}
	delete(data, unreplicated)
	return errUnreplicated
}

// Exec runs a statement.
func (d *DB) Exec(ctx context.Context, sql string, args ...any) (tag pgconn.CommandTag, err error) {
	conn, err := d.Acquire(ctx)
	if err != nil {
		return tag, err
	}
	defer conn.Release()
	tag, err = conn.Exec(ctx, sql, args...)
	return tag, replicated(conn.Conn(), err)
}

// Query runs a statement that returns rows.
func (d *DB) Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error) {
	conn, err := d.Acquire(ctx)
	if err != nil {
		return failedRows{err: err}, err
	}
	r, err := conn.Query(ctx, sql, args...)
	if err != nil {
		conn.Release()
		return failedRows{r, err}, err
	}
	return &rows{Rows: r, conn: conn}, nil
}

// failedRows are the rows of a query that could not be sent. Only Close, Err and Next may be called.
type failedRows struct {
	pgx.Rows

	err error
}

func (f failedRows) Close()     {}
func (f failedRows) Err() error { return f.err }
func (f failedRows) Next() bool { return false }

// rows returns its connection to the pool at its end.
type rows struct {
	pgx.Rows

	conn *pgxpool.Conn // nil once it has ended
	err  error
}

func (r *rows) Next() bool {
	if r.Rows.Next() {
		return true
	}
	r.Close()
	return false
}

func (r *rows) Scan(into ...any) error {
	err := r.Rows.Scan(into...)
	if err != nil {
		r.Close()
	}
	return err
}

func (r *rows) Values() ([]any, error) {
	values, err := r.Rows.Values()
	if err != nil {
		r.Close()
	}
	return values, err
}

func (r *rows) Err() error {
	if r.err != nil {
		return r.err
	}
	return r.Rows.Err()
}

func (r *rows) Close() {
	r.Rows.Close()
	if r.conn != nil {
		r.err = replicated(r.conn.Conn(), r.Rows.Err())
		r.conn.Release()
		r.conn = nil
	}
}

// QueryRow runs a statement that returns one row. Its Scan fails with pgx.ErrNoRows if there is none.
func (d *DB) QueryRow(ctx context.Context, sql string, args ...any) pgx.Row {
	r, _ := d.Query(ctx, sql, args...)
	return row{r}
}

type row struct{ rows pgx.Rows }

func (r row) Scan(into ...any) error {
	defer r.rows.Close()
	if !r.rows.Next() {
		if err := r.rows.Err(); err != nil {
			return err
		}
		return pgx.ErrNoRows
	}
	if err := r.rows.Scan(into...); err != nil {
		return err
	}
	r.rows.Close()
	return r.rows.Err()
}

// send runs a batch on a connection. It leaves out SettingsOfPlans if the session has them.
func send(ctx context.Context, conn *pgxpool.Conn, b *pgx.Batch) error {
	if conn.Conn().PgConn().CustomData()[hasSettingsOfPlans] != nil {
		b.QueuedQueries = slices.DeleteFunc(b.QueuedQueries, func(q *pgx.QueuedQuery) bool { return q.SQL == setPlans })
	}
	return replicated(conn.Conn(), conn.SendBatch(ctx, b).Close())
}
