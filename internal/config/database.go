package config

import (
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

const exampleDatabaseURL = "postgres://holdfast@127.0.0.1:5432/holdfast"

// spareConns are the connections in addition to those of the steps: health checks, the state of dead letters, replays and
// sweeps, purges and notifications, the error log, and one for queries.
const spareConns = 8

// lanes doubles the slots of a priority: for steps on the fast lane and for those on the durable one. The pool has a connection
// for each, so that a flood of one priority can't block another.
const lanes = 2

// deliveryConns are the connections of deliveries: one lease, one batch of outcomes, and periodic work. Attempts use none.
const deliveryConns = 5

// PoolSize returns the size of the connection pool of one process.
func (c Config) PoolSize() int {
	if c.Database.MaxConns > 0 {
		return c.Database.MaxConns
	}
	w := c.Worker
	return lanes*(w.SlotsCritical+w.SlotsHigh+w.SlotsNormal+w.SlotsReplay+w.SlotsBulk) + w.SlotsDeadLetter + spareConns +
		deliveryConns
}

// RequireDatabase returns an error without a database URL, for roles that need one.
func (c Config) RequireDatabase() error {
	if c.Database.URL.IsSet() {
		return nil
	}
	return &VariableError{Variable: "DATABASE_URL", Problem: "is not set, and this role needs a database",
		Example: exampleDatabaseURL}
}

// isDatabaseURL accepts what pgx does: a URL or key=value pairs. The parser's error may quote a password, so it is dropped.
func isDatabaseURL(text string) bool {
	scheme, _, isURL := strings.Cut(text, "://")
	if isURL && scheme != "postgres" && scheme != "postgresql" {
		return false // the parser would treat it as a key
	}
	_, err := pgconn.ParseConfig(text)
	return err == nil
}
