package postgres

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// RollbackTimeout bounds the rollback of a transaction whose own context may have ended.
const RollbackTimeout = time.Second

// EventLock is the first statement of every transaction that changes an event: at any time, one transaction works on one event,
// whether or not it has a row. So what a transaction reads of its event stays true until it commits.
const EventLock = `SELECT ` + lockOfEvent

// EventLocks is EventLock for several events. It locks them in one order.
const EventLocks = `
SELECT pg_advisory_xact_lock(h) FROM (
       SELECT DISTINCT hashtextextended(lower(id), 0) AS h FROM unnest($1::text[]) AS id ORDER BY h) AS in_one_order`

const lockOfEvent = `pg_advisory_xact_lock(hashtextextended(lower($1), 0))`

// SettingsOfPlans makes PostgreSQL plan each statement once per connection, and with indexes only: the statements find few rows
// in tables of any size, and a plan from when a table was empty would later read all of it. JIT is off, because a sequential scan
// would then appear so expensive that PostgreSQL would compile it each time, for much longer than it runs.
//
// If a table was empty when PostgreSQL analyzed it, it appears to have one row, however many it has by now, and a join would read
// all of it for each row of the other side. So statements don't join tables: they find their rows by "= ANY (ARRAY(SELECT …))",
// by ctid, or in a LATERAL or EXISTS with OFFSET 0, which PostgreSQL doesn't turn into a join. A ctid is only safe for a row that
// the transaction has locked, since it changes with the row.
const SettingsOfPlans = `
       set_config('jit', 'off', true),
       set_config('plan_cache_mode', 'force_generic_plan', true), set_config('enable_seqscan', 'off', true),
       set_config('enable_hashjoin', 'off', true), set_config('enable_mergejoin', 'off', true)`

const setPlans = `SELECT ` + SettingsOfPlans

// InOrder and InAnyOrder enclose a statement that needs few of many rows in the order of an index. Between the two, PostgreSQL
// sorts nothing that it can read in order. Otherwise, if it expects few rows to meet all conditions, it reads and sorts all rows
// that meet the first one.
const (
	InOrder    = `SELECT set_config('enable_sort', 'off', true)`
	InAnyOrder = `SELECT set_config('enable_sort', 'on', true)`
)

// PlanEach makes PostgreSQL plan each statement of a transaction for its arguments, which takes less than a millisecond: one may
// have a million rows and another none, and a plan for both would read the million for the other.
const PlanEach = `SELECT set_config('plan_cache_mode', 'force_custom_plan', true), set_config('jit', 'off', true)`

// hasSettingsOfPlans is the key under which a connection stores that its session has SettingsOfPlans.
const hasSettingsOfPlans = "holdfast/settings-of-plans"

// CommitAsync allows a transaction to commit before it is on disk. It is only for writes that are repeated or repaired
// automatically if a crash of the server loses them.
const CommitAsync = `SELECT set_config('synchronous_commit', 'off', true)`

// Transaction is one transaction in as few round trips as possible: BEGIN and COMMIT are sent with the statements.
type Transaction struct {
	conn    *pgxpool.Conn // nil once it has ended
	isAsync bool          // it commits with CommitAsync
}

// Rows is Query for CollectRows, which reports the error of the rows.
func (d *DB) Rows(ctx context.Context, sql string, args ...any) pgx.Rows {
	rows, _ := d.Query(ctx, sql, args...)
	return rows
}

// SendOnly runs a batch as one transaction in one round trip: statements that are sent together without a BEGIN are one
// transaction (PostgreSQL's manual, 55.2.4, "Pipelining"). What it has read is on the synchronous standby.
func (d *DB) SendOnly(ctx context.Context, b *pgx.Batch) error {
	b.Queue(Confirm)
	return d.SendRead(ctx, b)
}

// SendRead is SendOnly for reads that nothing depends on, such as a list for an operator: it doesn't wait for a standby.
func (d *DB) SendRead(ctx context.Context, b *pgx.Batch) error {
	conn, err := d.Acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	return send(ctx, conn, b)
}

// BeginAsync is Begin for a transaction that commits with CommitAsync. It doesn't wait for the standby.
func (d *DB) BeginAsync(ctx context.Context, b *pgx.Batch) (*Transaction, error) {
	tx, err := d.Begin(ctx, b)
	if err != nil {
		return nil, err
	}
	tx.isAsync = true
	return tx, nil
}

// Begin opens a transaction with its first statements. On an error no transaction is open.
func (d *DB) Begin(ctx context.Context, b *pgx.Batch) (*Transaction, error) {
	conn, err := d.Acquire(ctx)
	if err != nil {
		return nil, err
	}
	first := &pgx.Batch{}
	first.Queue("begin")
	first.QueuedQueries = append(first.QueuedQueries, b.QueuedQueries...)
	tx := &Transaction{conn: conn}
	begun := false
	defer func() { // also if the driver panics, so that the pool doesn't lose a connection
		if !begun {
			tx.Rollback(ctx)
		}
	}()
	if err := tx.Send(ctx, first); err != nil {
		return nil, err
	}
	begun = true
	return tx, nil
}

// Send runs further statements.
func (t *Transaction) Send(ctx context.Context, b *pgx.Batch) error {
	return send(ctx, t.conn, b)
}

// Flush runs the statements of a batch, and empties it.
func (t *Transaction) Flush(ctx context.Context, b *pgx.Batch) error {
	err := t.Send(ctx, b)
	*b = pgx.Batch{}
	return err
}

// CountInto stores how many rows a statement has changed.
func CountInto(n *int64) func(pgconn.CommandTag) error {
	return func(tag pgconn.CommandTag) error { *n = tag.RowsAffected(); return nil }
}

// Commit runs the last statements and commits. After that, what the transaction has written and read is on the synchronous
// standby.
func (t *Transaction) Commit(ctx context.Context, b *pgx.Batch) error {
	t.queueLast(b)
	b.Queue("commit")
	if err := t.Send(ctx, b); err != nil {
		return err
	}
	t.release()
	return nil
}

// CommitThen is Commit, and runs further statements after it in the same round trip, as a separate transaction. Their errors are
// ignored.
func (t *Transaction) CommitThen(ctx context.Context, b, then *pgx.Batch) error {
	committed := false
	t.queueLast(b)
	b.Queue("commit").Exec(func(tag pgconn.CommandTag) error {
		committed = tag.String() == "COMMIT"
		return nil
	})
	b.QueuedQueries = append(b.QueuedQueries, then.QueuedQueries...)
	err := t.Send(ctx, b)
	if !committed || errors.Is(err, errUnreplicated) {
		return cmp.Or(err, errNotCommitted)
	}
	t.Rollback(ctx) // this only returns the connection
	return nil
}

// queueLast adds the last statement before the commit.
func (t *Transaction) queueLast(b *pgx.Batch) {
	if t.isAsync {
		b.Queue(CommitAsync)
		return
	}
	b.Queue(Confirm)
}

// WholeThen runs a batch as one transaction, and then further statements like CommitThen, all in one round trip.
func (d *DB) WholeThen(ctx context.Context, b, then *pgx.Batch) error {
	conn, err := d.Acquire(ctx)
	if err != nil {
		return err
	}
	tx := &Transaction{conn: conn}
	defer tx.Rollback(ctx)
	first := &pgx.Batch{}
	first.Queue("begin")
	first.QueuedQueries = append(first.QueuedQueries, b.QueuedQueries...)
	return tx.CommitThen(ctx, first, then)
}

// errNotCommitted reports that an earlier statement had failed.
var errNotCommitted = errors.New("the transaction was rolled back")

// Rollback ends the transaction if it has not ended. The pool drops a connection that is still in a transaction.
func (t *Transaction) Rollback(ctx context.Context) {
	if t.conn == nil {
		return
	}
	defer t.release()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), RollbackTimeout)
	defer cancel()
	if !t.conn.Conn().IsClosed() && t.conn.Conn().PgConn().TxStatus() != 'I' {
		// The error needn't be reported: the connection is dropped, and the server rolls back.
		_, _ = t.conn.Exec(ctx, "rollback")
	}
}

func (t *Transaction) release() {
	t.conn.Release()
	t.conn = nil
}
