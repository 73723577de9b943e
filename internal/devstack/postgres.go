package devstack

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/url"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"holdfast/internal/devstack/child"
)

const postgresUser = "holdfast"

// PostgresOptions configure a private PostgreSQL.
type PostgresOptions struct {
	// Dir holds the cluster (data/), the server's log and its password. It is created if missing.
	Dir string
	// Port on 127.0.0.1; 0 means the port of the last run if that is free, else any free one.
	Port int
	// Database is created if it doesn't exist; "" creates none.
	Database string
	// Settings are server parameters such as {"fsync": "off"}; they override the dev stack's.
	Settings map[string]string
	// Out gets a line before PostgreSQL is downloaded; nil discards it.
	Out io.Writer
	// Log receives restarts; nil means slog.Default(). The server's own log is Dir/postgres.log.
	Log *slog.Logger
}

// Postgres is a running private PostgreSQL.
type Postgres struct {
	options  PostgresOptions
	bin      string
	data     string
	password string
	account  *child.Account
	child    *child.Supervisor
}

// StartPostgres starts the PostgreSQL of a directory, creating a new one first, and returns when it answers. The context bounds
// the start only. StartPostgres first ends a server that an earlier run left behind in the directory; nothing else may use the
// directory at the same time (see [Claim]).
func StartPostgres(ctx context.Context, opts PostgresOptions) (*Postgres, error) {
	p, err := preparePostgres(ctx, opts)
	if err != nil {
		return nil, fmt.Errorf("prepare PostgreSQL: %w", err)
	}
	p.child = &child.Supervisor{
		Name:       "PostgreSQL",
		Command:    p.command,
		Clean:      func(ctx context.Context) error { return endPostgres(ctx, p.data) },
		Ready:      p.Ping,
		Port:       p.options.Port,
		StopSignal: syscall.SIGINT, // fast shutdown: roll back open transactions, then end
		Log:        p.options.Log,
	}
	if err := p.child.Start(ctx); err != nil {
		return nil, fmt.Errorf("%w\n%s", err, child.LogTail(p.logFile()))
	}
	if err := p.CreateDatabase(ctx, opts.Database); err != nil {
		return nil, errors.Join(err, p.Stop(ctx))
	}
	return p, nil
}

func preparePostgres(ctx context.Context, opts PostgresOptions) (*Postgres, error) {
	dir, err := child.MakeDir(opts.Dir, child.PassableDir)
	if err != nil {
		return nil, err
	}
	opts.Dir, opts.Log = dir, cmp.Or(opts.Log, slog.Default())
	p := &Postgres{options: opts, data: filepath.Join(dir, "data")}
	if p.bin, err = findPostgres(ctx, p.data, cmp.Or(opts.Out, io.Discard)); err != nil {
		return nil, err
	}
	if p.account, err = child.Unprivileged(p.data, filepath.Join(p.bin, "postgres")); err != nil {
		return nil, err
	}
	if err := endPostgres(ctx, p.data); err != nil {
		return nil, err
	}
	if p.password, err = ensureSecret(filepath.Join(dir, "password")); err != nil {
		return nil, err
	}
	if p.options.Port, err = child.EnsurePort(filepath.Join(dir, "port"), opts.Port); err != nil {
		return nil, err
	}
	if err := p.ensureCluster(ctx); err != nil {
		return nil, err
	}
	return p, nil
}

// URL returns the connection URL of a database on this server, with the password.
func (p *Postgres) URL(database string) string {
	u := url.URL{
		Scheme:   "postgres",
		User:     url.UserPassword(postgresUser, p.password),
		Host:     net.JoinHostPort(child.Loopback, strconv.Itoa(p.options.Port)),
		Path:     database,
		RawQuery: "sslmode=disable",
	}
	return u.String()
}

// Port returns the port on 127.0.0.1; it stays the same over restarts.
func (p *Postgres) Port() int { return p.options.Port }

// PID returns the process ID of the running postmaster.
func (p *Postgres) PID() int { return p.child.PID() }

// Stop shuts the server down: it closes connections, rolls back uncommitted transactions and writes everything else to disk. If
// the context ends first, it kills the server and returns an error; the next start recovers the data.
func (p *Postgres) Stop(ctx context.Context) error { return p.child.Stop(ctx) }

// End ends the server permanently with a signal: SIGKILL, or SIGQUIT for the effect of `pg_ctl stop -m immediate`. No checkpoint
// is written, and the next start recovers the data.
func (p *Postgres) End(sig syscall.Signal) {
	p.child.Signal(sig)
	<-p.child.Done()
}

// Done returns a channel that is closed when the server has ended permanently: after Stop, or after too many failed restarts
// (see Err).
func (p *Postgres) Done() <-chan struct{} { return p.child.Done() }

// Err returns why the server ended without Stop; nil before Done is closed.
func (p *Postgres) Err() error { return p.child.Failure() }

// Ping returns nil if the server answers a query.
func (p *Postgres) Ping(ctx context.Context) error {
	return p.query(ctx, "SELECT 1")
}

// CreateDatabase creates a database unless it exists or the name is "".
func (p *Postgres) CreateDatabase(ctx context.Context, name string) error {
	if name == "" {
		return nil
	}
	err := p.query(ctx, "CREATE DATABASE "+pgx.Identifier{name}.Sanitize())
	const duplicateDatabase = "42P04"
	if refused, ok := errors.AsType[*pgconn.PgError](err); ok && refused.Code == duplicateDatabase {
		return nil
	}
	if err != nil {
		return fmt.Errorf("create database %s: %w", name, err)
	}
	return nil
}

func (p *Postgres) query(ctx context.Context, sql string) error {
	conn, err := pgx.Connect(ctx, p.URL("postgres"))
	if err != nil {
		return err
	}
	_, err = conn.Exec(ctx, sql)
	return errors.Join(err, conn.Close(ctx))
}

// command runs the server in the foreground. All non-default settings are passed here instead of the cluster's postgresql.conf,
// so that an old cluster runs with current settings.
func (p *Postgres) command() *exec.Cmd {
	settings := map[string]string{
		"listen_addresses":        child.Loopback,
		"port":                    strconv.Itoa(p.options.Port),
		"unix_socket_directories": "", // socket paths are limited to about 100 bytes, which a clone's path may exceed
		"timezone":                "UTC",
		"log_timezone":            "UTC",
		"max_connections":         "200",
	}
	maps.Copy(settings, p.options.Settings)
	args := []string{"-D", p.data}
	for name, value := range settings {
		args = append(args, "-c", name+"="+value)
	}
	return p.Program(context.Background(), "postgres", args...)
}

// Program returns a command for one of PostgreSQL's programs, run as the server's user, with its output in the server's log.
func (p *Postgres) Program(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, filepath.Join(p.bin, name), args...)
	cmd.Dir = "/" // the account may not be able to enter ours
	cmd.Env = append(child.EnvironWithout("PG", "LC_", "LANG"), "LC_ALL=C")
	child.LogTo(cmd, p.logFile())
	child.Prepare(cmd, syscall.SIGINT, p.account)
	return cmd
}

func (p *Postgres) logFile() string { return filepath.Join(p.options.Dir, "postgres.log") }
