package postgres

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"holdfast/event"
)

// errPooler: behind a pooler that gives a session to one transaction at a time (PgBouncer's transaction mode), a statement
// prepared in one session is missing in the next, or its name is in use. That would fail events at random.
var errPooler = &event.Error{
	Class: event.ClassTransient, Code: "pooler_refused",
	Text: "a pooler such as PgBouncer is in front of PostgreSQL: add default_query_exec_mode=cache_describe to DATABASE_URL",
}

// ErrNoSession reports that an operation needs its own session: temporary tables belong to a session.
var ErrNoSession = &event.Error{
	Class: event.ClassFailed, Code: "no_session",
	Text: "DATABASE_URL is that of a pooler, and this needs PostgreSQL itself: leave default_query_exec_mode out",
}

// isForPooler reports whether statements are sent without depending on a session: none is prepared by name, and no setting
// outlives a transaction. A pooler also refuses settings at connect, so they are those of
// the role: see session.go.
func isForPooler(mode pgx.QueryExecMode) (bool, error) {
	switch mode {
	case pgx.QueryExecModeCacheStatement:
		return false, nil
	case pgx.QueryExecModeCacheDescribe:
		return true, nil
	default: // describe_exec needs a session; the others send arguments as text of guessed types, which corrupts arrays of bytes
		return false, errors.New("open database: default_query_exec_mode is " + mode.String() +
			" in the URL, which cannot work here: use cache_describe behind a pooler such as PgBouncer, else leave it out")
	}
}

// serverOf returns the server process that answers on a connection. If it isn't the one that greeted us, there is a pooler in
// between.
func serverOf(ctx context.Context, c *pgx.Conn) (pooled bool, pid uint32, err error) {
	err = c.QueryRow(ctx, `SELECT pg_backend_pid()`, pgx.QueryExecModeExec).Scan(&pid)
	return pid != c.PgConn().PID(), pid, err
}

// Pooling is the kind of connection pooling between a store and PostgreSQL.
type Pooling string

// The kinds of pooling.
const (
	PoolingNone Pooling = "none"
	// PoolingSession means that each connection has its own session.
	PoolingSession Pooling = "session"
	// PoolingTransaction means that connections share sessions, one transaction after the other.
	PoolingTransaction Pooling = "transaction"
)

// Pooling compares two simultaneous connections: if the same server process answers both, they share a session.
func (d *DB) Pooling(ctx context.Context) (Pooling, error) {
	const doing = "look for a pooler"
	first, err := d.Acquire(ctx)
	if err != nil {
		return "", Failure(doing, err)
	}
	defer first.Release()
	pooled, one, err := serverOf(ctx, first.Conn())
	if err != nil {
		return "", Failure(doing, err)
	}
	if !pooled {
		return PoolingNone, nil
	}
	second, err := d.Acquire(ctx)
	if err != nil {
		return "", Failure(doing, err)
	}
	defer second.Release()
	_, other, err := serverOf(ctx, second.Conn())
	switch {
	case err != nil:
		return "", Failure(doing, err)
	case one == other:
		return PoolingTransaction, nil
	default:
		return PoolingSession, nil
	}
}
