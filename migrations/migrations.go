// Package migrations contains the schema as numbered SQL files and applies them. Files 1001 to 1008 are the schema of the first
// release, by subject; each change has a file of its own. A released file is never changed; a mistake is corrected by the next
// file. There are no down migrations.
//
// It must not depend on what the tables mean: that is persistence.
package migrations

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"

	"holdfast/persistence/postgres/session"
)

//go:embed *.sql
var files embed.FS

// Up waits for a concurrent migration: it tries the lock lockTries times, lockPeriod seconds apart.
const (
	lockPeriod = 1
	lockTries  = 300
)

// Up migrates the database at url to the newest version. Many processes may call it at once: one migrates, the others wait for
// it. If it is killed, the next call continues: each file is one transaction, or its statements can be run again.
func Up(ctx context.Context, url string) (err error) {
	db, err := open(url)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()

	if err := refusePooler(ctx, db); err != nil {
		return err
	}
	if _, err := readApplied(ctx, url); err != nil {
		return fmt.Errorf("migrate database: %w", err)
	}
	locker, err := lock.NewPostgresSessionLocker(lock.WithLockTimeout(lockPeriod, lockTries))
	if err != nil {
		return fmt.Errorf("make migration lock: %w", err)
	}
	provider, err := goose.NewProvider(goose.DialectPostgres, db, files,
		goose.WithSessionLocker(locker), goose.WithDisableGlobalRegistry(true),
		goose.WithAllowOutofOrder(true), // files only add, and one of a lower number may be released later
		goose.WithSlog(slog.New(slog.DiscardHandler)))
	if err != nil {
		return fmt.Errorf("read migrations: %w", err)
	}
	if _, err := provider.Up(ctx); err != nil {
		return fmt.Errorf("migrate database: %w", err)
	}
	return nil
}

// ErrPooler rejects connection poolers: the lock that lets one process migrate belongs to a session, which a pooler may
// reassign.
var ErrPooler = errors.New("a pooler such as PgBouncer is in front of the database: use the address of PostgreSQL itself")

// refusePooler checks that the process that answers is the one that opened the session.
func refusePooler(ctx context.Context, db *sql.DB) error {
	conn, err := db.Conn(ctx)
	var refused *pgconn.PgError
	if errors.As(err, &refused) && refused.Code == "08P01" { // PgBouncer's, for settings at connect
		return fmt.Errorf("migrate database: %w", ErrPooler)
	}
	if err != nil {
		return fmt.Errorf("connect to migrate: %w", err)
	}
	defer conn.Close()
	var answers uint32
	if err := conn.QueryRowContext(ctx, `SELECT pg_backend_pid()`, pgx.QueryExecModeExec).Scan(&answers); err != nil {
		return fmt.Errorf("look for a pooler: %w", err)
	}
	return conn.Raw(func(driver any) error {
		if c, ok := driver.(*stdlib.Conn); ok && c.Conn().PgConn().PID() != answers {
			return fmt.Errorf("migrate database: %w", ErrPooler)
		}
		return nil
	})
}

// Current returns the version of the database at url, 0 for an empty one, and the version that this program needs. A database
// that lacks a file has the version before that file. Current only reads. After a rollback of the program have may be greater
// than want, which is allowed: files only add.
func Current(ctx context.Context, url string) (have, want int64, err error) {
	needed, err := versions()
	if err != nil {
		return 0, 0, err
	}
	want = needed[len(needed)-1]
	applied, err := readApplied(ctx, url)
	if err != nil {
		return 0, want, fmt.Errorf("read migration version: %w", err)
	}
	for _, version := range needed {
		if !slices.Contains(applied, version) {
			return have, want, nil
		}
		have = version
	}
	return max(have, slices.Max(applied)), want, nil
}

// firstVersion is the lowest number of a file. Builds from before the first release began with 1.
const firstVersion = 1001

// ErrEarlierBuild rejects the tables of a build from before the first release.
var ErrEarlierBuild = errors.New("the tables belong to a build from before 0.9.0, which can't be upgraded: archive its events " +
	"with that build, use a new database and a new namespace, and import the archive (docs/upgrades.md)")

// readApplied returns the versions of the applied files, or ErrEarlierBuild.
func readApplied(ctx context.Context, url string) (applied []int64, err error) {
	db, err := open(url)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()

	var migrated bool
	const exists = `SELECT to_regclass('` + goose.DefaultTablename + `') IS NOT NULL`
	if err := db.QueryRowContext(ctx, exists).Scan(&migrated); err != nil || !migrated {
		return nil, err
	}
	const all = `SELECT version_id FROM ` + goose.DefaultTablename + ` WHERE is_applied`
	rows, err := db.QueryContext(ctx, all)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var version int64
		if err := rows.Scan(&version); err != nil {
			return nil, err
		}
		if version > 0 && version < firstVersion { // goose's own is 0
			return nil, ErrEarlierBuild
		}
		applied = append(applied, version)
	}
	return applied, rows.Err()
}

func open(url string) (*sql.DB, error) {
	cfg, err := pgx.ParseConfig(url)
	if err != nil {
		// The driver's error may quote the URL, which contains a password.
		return nil, errors.New("open database: the URL is malformed")
	}
	// A pooler, for which the other modes are, would refuse the settings.
	if cfg.DefaultQueryExecMode == pgx.QueryExecModeCacheStatement && !strings.Contains(url, session.ModeNamed) {
		session.Configure(cfg.RuntimeParams)
		// The role's limits are for statements of events; a migration may run for hours. Each file limits its locks itself.
		cfg.RuntimeParams["statement_timeout"] = "0"
		cfg.RuntimeParams["idle_in_transaction_session_timeout"] = "0"
	}
	return stdlib.OpenDB(*cfg), nil
}

// versions returns the numbers of the files, in order.
func versions() (all []int64, err error) {
	names, err := fs.Glob(files, "*.sql")
	if err != nil || len(names) == 0 {
		return nil, fmt.Errorf("list migrations: %w", errors.Join(err, fs.ErrNotExist))
	}
	for _, name := range names {
		number, _, _ := strings.Cut(name, "_")
		version, err := strconv.ParseInt(number, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("read migration version: %w", err)
		}
		all = append(all, version)
	}
	return all, nil
}
