package lab

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
)

// Transactions returns how many a database has ended since its server started.
func (l *Lab) Transactions(ctx context.Context, database string) (n int64, err error) {
	// The server reports a connection's transactions when it is idle, and at most once a second.
	err = l.ask(ctx, &n,
		`SELECT xact_commit + xact_rollback FROM pg_stat_database WHERE datname = $1`, database)
	return n, err
}

// Statements returns how many of a database were counted: see CountPages.
func (l *Lab) Statements(ctx context.Context, database string) (n int64, err error) {
	err = l.ask(ctx, &n, `
SELECT coalesce(sum(calls), 0)::bigint FROM pg_stat_statements
 WHERE dbid = (SELECT oid FROM pg_database WHERE datname = $1)`, database)
	return n, err
}

// WAL returns how many bytes all databases have written ahead.
func (l *Lab) WAL(ctx context.Context) (n int64, err error) {
	err = l.ask(ctx, &n, `SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::bigint`)
	return n, err
}

// OmitPageImages makes the WAL hold only what statements write. By default it also gets a copy of each page that changes for the
// first time after a checkpoint, which comes at any time.
func (l *Lab) OmitPageImages(ctx context.Context) error {
	return errors.Join(
		l.Exec(ctx, "postgres", `ALTER SYSTEM SET full_page_writes = off`),
		l.Exec(ctx, "postgres", `SELECT pg_reload_conf()`),
	)
}

// Size returns the size of a database in bytes, including indexes.
func (l *Lab) Size(ctx context.Context, database string) (n int64, err error) {
	err = l.ask(ctx, &n, `SELECT pg_database_size($1)`, database)
	return n, err
}

// TemporalSize returns the size of Temporal's two databases.
func (l *Lab) TemporalSize(ctx context.Context) (n int64, err error) {
	err = l.ask(ctx, &n,
		`SELECT pg_database_size($1) + pg_database_size($2)`, temporalDatabase, visibilityDatabase)
	return n, err
}

// ServerVersion returns the version of PostgreSQL.
func (l *Lab) ServerVersion(ctx context.Context) (version string, err error) {
	err = l.ask(ctx, &version, `SHOW server_version`)
	return version, err
}

func (l *Lab) ask(ctx context.Context, into any, query string, args ...any) error {
	return l.Ask(ctx, "postgres", into, query, args...)
}

// Ask reads one value from a database.
func (l *Lab) Ask(ctx context.Context, database string, into any, query string, args ...any) error {
	conn, err := pgx.Connect(ctx, l.Postgres.URL(database))
	if err != nil {
		return err
	}
	return errors.Join(conn.QueryRow(ctx, query, args...).Scan(into), conn.Close(ctx))
}
