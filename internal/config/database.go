package config

import (
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

const exampleDatabaseURL = "postgres://holdfast@127.0.0.1:5432/holdfast"

// spareConns are the connections beside those of the steps: health checks, the state of dead letters, redrives and sweeps,
// purges and notifications, the error log, one to look with.
const spareConns = 8

// lanes is how often the slots of a priority are there: once for steps on the fast lane, once for those on the durable one.
// The pool has a connection for each, so that no flood of one priority can keep another waiting.
const lanes = 2

// deliveryConns are those of deliveries: one lease, one batch of outcomes, and what is looked after now and then. Attempts take
// none.
const deliveryConns = 5

// PoolSize is the size of the connection pool of one process.
func (c Config) PoolSize() int {
	if c.Database.MaxConns > 0 {
		return c.Database.MaxConns
	}
	w := c.Worker
	return lanes*(w.SlotsCritical+w.SlotsHigh+w.SlotsNormal+w.SlotsRedrive+w.SlotsBulk) + w.SlotsDeadLetter + spareConns +
		deliveryConns
}

// RequireDatabase is an error if no database is given: for the roles that cannot do without one.
func (c Config) RequireDatabase() error {
	if c.Database.URL.IsSet() {
		return nil
	}
	return &VariableError{Variable: "DATABASE_URL", Problem: "is not set, and this role needs a database",
		Example: exampleDatabaseURL}
}

// isDatabaseURL accepts what pgx does: a URL or key=value pairs. The parser's error may quote a password, so it stays
// here.
func isDatabaseURL(text string) bool {
	scheme, _, isURL := strings.Cut(text, "://")
	if isURL && scheme != "postgres" && scheme != "postgresql" {
		return false // the parser would take it for a key
	}
	_, err := pgconn.ParseConfig(text)
	return err == nil
}
