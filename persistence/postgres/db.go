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
)

// Config says which database to use, and what bounds its use.
type Config struct {
	// URL is a PostgreSQL URL or DSN. It may hold a password and never appears in an error.
	URL string
	// MaxConns bounds the pool. 0 means the driver's default: 4, or the number of CPUs if that is greater.
	MaxConns int
	// StatementTimeout ends a statement that runs longer, and a transaction that idles longer; 0 means 15 s.
	StatementTimeout time.Duration
	// LockTimeout ends a statement that waits longer for a lock; 0 means 5 s.
	LockTimeout time.Duration
	// ApplicationName is shown in pg_stat_activity; empty means "holdfast".
	ApplicationName string
	// Tracer sees every statement; nil means none.
	Tracer pgx.QueryTracer
	// Sealer encrypts the secrets and header values of destinations; nil leaves them in clear.
	Sealer Sealer
	// Secrets gives the secrets that a variable holds, the newest first, for destinations that name one; nil gives none.
	Secrets func(name string) []string
	// Reserved reports whether a variable is Holdfast's own, so that no destination may name it; nil reserves none.
	Reserved func(name string) bool
}

// Sealer encrypts what is stored, and decrypts it. Open is given what Seal has made, by this key or an earlier one.
type Sealer interface {
	Seal(plain []byte) ([]byte, error)
	Open(sealed []byte) ([]byte, error)
}

// The defaults of Config.
const (
	defaultStatementTimeout = 15 * time.Second
	defaultLockTimeout      = 5 * time.Second
	defaultApplicationName  = "holdfast"
	// connectTimeout ends an attempt to connect, where the URL does not say.
	connectTimeout = 5 * time.Second
)

// DB is the database. It is safe for concurrent use.
type DB struct {
	*pgxpool.Pool

	// Pooled: sessions are not ours, see pooler.go.
	Pooled bool
}

// Open makes a DB. It does not connect: the database may be down at start, and come and go afterwards. The only
// error is a URL that cannot be read, or asks for what cannot work.
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
	params := pc.ConnConfig.RuntimeParams
	params["application_name"] = cmp.Or(cfg.ApplicationName, defaultApplicationName)
	if !pooled {
		statement := milliseconds(cfg.StatementTimeout, defaultStatementTimeout)
		params["statement_timeout"] = statement
		params["idle_in_transaction_session_timeout"] = statement
		params["lock_timeout"] = milliseconds(cfg.LockTimeout, defaultLockTimeout)
	}
	pc.ConnConfig.Tracer = cfg.Tracer
	pc.ConnConfig.OnNotice = noteWarning
	pc.AfterConnect = func(ctx context.Context, c *pgx.Conn) error {
		if !pooled && !strings.Contains(cfg.URL, execModeNamed) {
			if err := refusePooler(ctx, c); err != nil {
				return err
			}
		}
		return registerTypes(ctx, c)
	}

	pool, err := pgxpool.NewWithConfig(ctx, pc)
	if err != nil {
		return nil, Failure("open database", err)
	}
	return &DB{Pool: pool, Pooled: pooled}, nil
}

// Ping says whether the database answers. While every connection of the pool is in use it opens one of its own, so that a busy
// process doesn't pass for one without a database. If the server then refuses because the role has no connection left, it has
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

// tooManyConnections is the SQLSTATE of a server, database or role whose limit of connections is reached.
const tooManyConnections = "53300"

func milliseconds(d, def time.Duration) string {
	return strconv.FormatInt(max(cmp.Or(d, def).Milliseconds(), 1), 10)
}
