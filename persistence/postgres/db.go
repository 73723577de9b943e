package postgres

import (
	"cmp"
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"holdfast/persistence/postgres/session"
)

// Config selects the database and bounds its use.
type Config struct {
	// URL is a PostgreSQL URL or DSN. It may hold a password and never appears in an error.
	URL string
	// MaxConns bounds the pool. 0 means the driver's default: 4, or the number of CPUs if that is greater.
	MaxConns int
	// StatementTimeout ends longer statements, and transactions that are idle for longer; 0 means 15 s.
	StatementTimeout time.Duration
	// LockTimeout ends a statement that waits longer for a lock; 0 means 5 s.
	LockTimeout time.Duration
	// ApplicationName is shown in pg_stat_activity; empty means "holdfast".
	ApplicationName string
	// PlansAtConnect sets SettingsOfPlans when a connection is made, so that transactions needn't send them; other statements have
	// them, too. It does nothing behind a pooler. It is for processes that write: lists for operators are planned for their filters.
	PlansAtConnect bool
	// Tracer traces every statement; nil means none.
	Tracer pgx.QueryTracer
	// Sealer encrypts the secrets and header values of destinations; nil leaves them in clear.
	Sealer Sealer
	// Secrets returns the secrets in a variable, newest first, for destinations that name one; nil returns none.
	Secrets func(name string) []string
	// Reserved reports whether a variable is Holdfast's own, so that no destination may name it; nil reserves none.
	Reserved func(name string) bool
}

// Sealer encrypts and decrypts stored values. Open receives what Seal has returned, with this key or an earlier one.
type Sealer interface {
	Seal(plain []byte) ([]byte, error)
	Open(sealed []byte) ([]byte, error)
}

// Defaults of Config.
const (
	defaultStatementTimeout = 15 * time.Second
	defaultLockTimeout      = 5 * time.Second
	defaultApplicationName  = "holdfast"
	// connectTimeout bounds an attempt to connect, unless the URL sets another limit.
	connectTimeout = 5 * time.Second
)

// DB is the database. It is safe for concurrent use.
type DB struct {
	*pgxpool.Pool

	// Pooled means that sessions are shared with other clients: see pooler.go.
	Pooled bool
}

// Open makes a DB. It does not connect: the database may be down at start, and at any time later. The only error is an invalid or
// unsupported URL.
func Open(ctx context.Context, cfg Config) (*DB, error) {
	pc, err := pgxpool.ParseConfig(cfg.URL)
	if err != nil {
		// The driver's text may quote the URL.
		return nil, errors.New("open database: the URL is malformed")
	}
	if cfg.MaxConns > 0 {
		pc.MaxConns = int32(min(cfg.MaxConns, 10_000))
	}
	if pc.ConnConfig.ConnectTimeout == 0 {
		pc.ConnConfig.ConnectTimeout = connectTimeout
	}
	pooled, err := isForPooler(pc.ConnConfig.DefaultQueryExecMode)
	if err != nil {
		return nil, err
	}
	mayBePooled := pooled || strings.Contains(cfg.URL, session.ModeNamed)
	params := pc.ConnConfig.RuntimeParams
	params["application_name"] = cmp.Or(cfg.ApplicationName, defaultApplicationName)
	plansAtConnect := cfg.PlansAtConnect && !mayBePooled
	if !mayBePooled {
		session.Configure(params)
	}
	if plansAtConnect {
		session.ConfigurePlans(params)
	}
	if !pooled {
		statement := milliseconds(cfg.StatementTimeout, defaultStatementTimeout)
		params["statement_timeout"] = statement
		params["idle_in_transaction_session_timeout"] = statement
		params["lock_timeout"] = milliseconds(cfg.LockTimeout, defaultLockTimeout)
	}
	pc.ConnConfig.Tracer = cfg.Tracer
	pc.ConnConfig.OnNotice = noteWarning
	pc.ConnConfig.DialFunc = newDialer().DialContext
	pc.AfterConnect = func(ctx context.Context, c *pgx.Conn) error {
		registerTypes(c.TypeMap())
		if plansAtConnect {
			c.PgConn().CustomData()[hasSettingsOfPlans] = true
		}
		return checkSession(ctx, c, mayBePooled)
	}

	pool, err := pgxpool.NewWithConfig(ctx, pc)
	if err != nil {
		return nil, Failure("open database", err)
	}
	return &DB{Pool: pool, Pooled: pooled}, nil
}

// Ping returns nil if the database answers. While every connection of the pool is in use it opens another one, so that a busy
// process doesn't appear to have no database. If the server then refuses because the role has no connection left, it has
// answered.
func (d *DB) Ping(ctx context.Context) error {
	if s := d.Stat(); s.AcquiredConns() < s.MaxConns() {
		return Failure("ping database", d.Pool.Ping(ctx))
	}
	conn, err := pgx.ConnectConfig(ctx, d.Config().ConnConfig)
	var refused *pgconn.PgError
	if errors.As(err, &refused) && refused.Code == tooManyConnections {
		return nil
	}
	if err != nil {
		return Failure("ping database", err)
	}
	return Failure("ping database", errors.Join(conn.Ping(ctx), conn.Close(ctx)))
}

// tooManyConnections is the SQLSTATE for the connection limit of a server, database or role.
const tooManyConnections = "53300"

func milliseconds(d, def time.Duration) string {
	return strconv.FormatInt(max(cmp.Or(d, def).Milliseconds(), 1), 10)
}
