package check

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"holdfast/internal/ledger"
	"holdfast/persistence/postgres"
)

// ledgerTimeout bounds each statement of a check; a statement reads as much as the ledger is long.
const ledgerTimeout = 5 * time.Minute

// The ledger as temporary tables. A key has all that was sent under one provider and key.
const (
	makeLedgerEntries = `
CREATE TEMP TABLE ledger_entries (
    provider text, key text, workflow_id text, sha256 bytea, outcome text, sent_at timestamptz, answered_at timestamptz)`

	makeLedgerKeys = `
CREATE TEMP TABLE ledger_keys AS
SELECT workflow_id, provider, key, bool_or(outcome = 'ok') AS acknowledged, bool_and(outcome = 'fail') AS refused,
       min(sent_at) AS sent_at, min(answered_at) FILTER (WHERE outcome = 'ok') AS acknowledged_at
  FROM ledger_entries GROUP BY workflow_id, provider, key`

	makeLedgerPending = `
CREATE TEMP TABLE ledger_pending AS SELECT workflow_id, provider, key FROM ledger_keys WHERE acknowledged`

	indexLedger = `
CREATE INDEX ON ledger_entries (workflow_id);
CREATE UNIQUE INDEX ON ledger_keys (workflow_id);
ANALYZE ledger_entries, ledger_keys, ledger_pending`
)

const forgetFinished = `
DELETE FROM ledger_pending AS p
 WHERE EXISTS (SELECT FROM idempotency_keys AS k JOIN events AS e ON e.id = k.event_id
                WHERE k.provider = p.provider AND k.key = p.key AND e.status = 'processed')
   AND NOT EXISTS (SELECT FROM inbox AS i WHERE i.workflow_id = p.workflow_id)
    OR EXISTS (SELECT FROM dead_letters AS d
                WHERE d.workflow_id = p.workflow_id AND d.subscription_id = 0 AND d.state IN ('open', 'exhausted', 'discarded')
                  AND NOT (d.state = 'open' AND d.error_code IN ('lost', 'no_run')))`

// Check compares a ledger with the database, on its own connection, which has the ledger in temporary tables. It is for one
// goroutine.
type Check struct {
	conn *pgx.Conn
	runs []string
	// from and to bound the times at which the ledger's events were received.
	from, to time.Time
}

// clockSkew is how much the clocks of a sender and of the ingresses may differ.
const clockSkew = time.Hour

// Open loads a ledger into a session of the database. The caller must close the check.
func Open(ctx context.Context, cfg postgres.Config, l ledger.Ledger) (*Check, error) {
	db, err := postgres.Open(ctx, cfg)
	if err != nil {
		return nil, err
	}
	defer db.Close()
	if db.Pooled {
		return nil, postgres.Failure("open ledger check", postgres.ErrNoSession)
	}
	pooled, err := db.Acquire(ctx)
	if err != nil {
		return nil, postgres.Failure("open ledger check", err)
	}
	c := &Check{conn: pooled.Hijack()}
	for _, run := range l.Runs {
		c.runs = append(c.runs, run.ID)
	}
	if err := c.load(ctx, l.Entries); err != nil {
		c.Close()
		return nil, postgres.Failure("load ledger", err)
	}
	return c, nil
}

// Ledger reports on the current content: see Open and Check.Report.
func Ledger(ctx context.Context, cfg postgres.Config, l ledger.Ledger) (ledger.Report, error) {
	c, err := Open(ctx, cfg, l)
	if err != nil {
		return ledger.Report{}, err
	}
	defer c.Close()
	return c.Report(ctx)
}

func (c *Check) load(ctx context.Context, entries []ledger.Entry) error {
	limit := ledgerTimeout.Milliseconds()
	settings := fmt.Sprintf("SET statement_timeout = %d; SET idle_in_transaction_session_timeout = %d; %s", limit, limit,
		makeLedgerEntries)
	if _, err := c.conn.Exec(ctx, settings, pgx.QueryExecModeSimpleProtocol); err != nil {
		return err
	}
	columns := []string{"provider", "key", "workflow_id", "sha256", "outcome", "sent_at", "answered_at"}
	_, err := c.conn.CopyFrom(ctx, pgx.Identifier{"ledger_entries"}, columns, pgx.CopyFromSlice(len(entries),
		func(i int) ([]any, error) { return c.row(&entries[i]), nil }))
	if err != nil {
		return err
	}
	_, err = c.conn.Exec(ctx, makeLedgerKeys+";"+makeLedgerPending+";"+indexLedger, pgx.QueryExecModeSimpleProtocol)
	return err
}

// row returns the columns of an entry. It also widens the time range of the ledger.
func (c *Check) row(e *ledger.Entry) []any {
	if c.from.IsZero() || e.At.Before(c.from) {
		c.from = e.At
	}
	last := e.At.Add(e.Took)
	if last.After(c.to) {
		c.to = last
	}
	var answered *time.Time
	if at := e.AnsweredAt(); !at.IsZero() {
		answered = &at
	}
	return []any{e.Provider, e.Key, e.WorkflowID(), e.SHA256[:], string(e.Outcome()), e.At, answered}
}

// Close closes the connection, which removes the tables.
func (c *Check) Close() {
	ctx, cancel := context.WithTimeout(context.Background(), postgres.RollbackTimeout)
	defer cancel()
	_ = c.conn.Close(ctx) // nothing can be lost
}

// Unfinished returns how many of the acknowledged events are neither finished (processed, and gone from the inbox) nor open dead
// letters. The dead letter of an event that a sweep has restored doesn't count: the event runs again. Without load it is 0,
// unless something is broken, which Report then names.
func (c *Check) Unfinished(ctx context.Context) (n int, err error) {
	if _, err = c.conn.Exec(ctx, forgetFinished); err == nil {
		err = c.conn.QueryRow(ctx, `SELECT count(*) FROM ledger_pending`).Scan(&n)
	}
	return n, postgres.Failure("count unfinished events of ledger", err)
}

const (
	batchedOfLedger = `
SELECT l.workflow_id
  FROM unnest($1::text[]) AS asked (workflow_id)
  JOIN ledger_keys AS l USING (workflow_id)
  JOIN idempotency_keys AS k ON k.provider = l.provider AND k.key = l.key
  JOIN events AS e ON e.id = k.event_id
 WHERE e.workflow_id <> l.workflow_id`

	notDeadOfLedger = `
SELECT workflow_id FROM unnest($1::text[]) AS asked (workflow_id)
 WHERE NOT EXISTS (SELECT FROM dead_letters AS d WHERE d.workflow_id = asked.workflow_id AND d.subscription_id = 0)`
)

// Batched returns the workflow IDs whose events were processed by a batch's workflow instead.
func (c *Check) Batched(ctx context.Context, workflowIDs []string) ([]string, error) {
	return c.names(ctx, batchedOfLedger, workflowIDs)
}

// NotDead returns the workflow IDs that have no dead letter, not even a closed one.
func (c *Check) NotDead(ctx context.Context, workflowIDs []string) ([]string, error) {
	return c.names(ctx, notDeadOfLedger, workflowIDs)
}

func (c *Check) names(ctx context.Context, query string, workflowIDs []string) ([]string, error) {
	rows, _ := c.conn.Query(ctx, query, workflowIDs)
	found, err := pgx.CollectRows(rows, pgx.RowTo[string])
	return found, postgres.Failure("look for workflows of ledger", err)
}
