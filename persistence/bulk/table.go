package bulk

import (
	"context"
	"encoding/json"

	"github.com/jackc/pgx/v5"

	"holdfast/event"
	"holdfast/event/operation"
	"holdfast/event/oversight"
	"holdfast/persistence/audit"
	"holdfast/persistence/postgres"
)

// Table is the table of one kind of operation, with a row for each. It has the name of the kind.
type Table[T operation.Any] struct {
	DB   *postgres.DB
	Kind operation.Kind
	// Columns are the kind's own columns, and From joins what they need.
	Columns, From string
	// Unfinished is the condition for operations that need a workflow; "" means those that have not ended.
	Unfinished string
	// Scan reads a row: the columns of Scan, then Columns.
	Scan func(pgx.Row) (T, error)
}

// hasNotEnded is the condition for an operation that can still be changed.
const hasNotEnded = `state IN ('running', 'paused')`

func (o Table[T]) change() string {
	return `UPDATE ` + o.Kind.Plural() + ` SET state = $2, ended_at = CASE WHEN $2 = 'canceled' THEN clock_timestamp() END
 WHERE id = $1 AND ` + hasNotEnded
}

// Select returns the statement for Scan, up to its conditions. More lists further columns.
func (o Table[T]) Select(more string) string {
	return `SELECT id, rate, state, started_at, ended_at, started_by, ` + o.Columns + more + ` FROM ` + o.Kind.Plural() + o.From
}

// Scan reads the columns that all kinds share, and more after them.
func Scan(row pgx.Row, b *operation.Base, more ...any) error {
	all := append([]any{&b.ID, &b.Rate, &b.State, &b.StartedAt, &b.EndedAt, &b.StartedBy}, more...)
	return row.Scan(all...)
}

var changeVerbs = map[operation.State]string{
	operation.Running: "resume", operation.Paused: "pause", operation.Canceled: "cancel",
}

// Change pauses, resumes or cancels an operation, and audits it. An operation that has ended is refused with an event.Error of
// class rejected, whose code is the kind and "_ended".
func (o Table[T]) Change(ctx context.Context, id string, to operation.State, by oversight.Actor) (changed T, err error) {
	if err := o.tryChange(ctx, id, to, by); err != nil {
		return changed, o.failure("change", id, err)
	}
	return o.Read(ctx, id)
}

func (o Table[T]) tryChange(ctx context.Context, id string, to operation.State, by oversight.Actor) error {
	noun := string(o.Kind)
	did := by.Did(oversight.AuditAction(noun+"."+changeVerbs[to]), noun+":"+id, nil)
	if changed, err := audit.Change(ctx, o.DB, did, o.change(), postgres.Clean(id), string(to)); err != nil || changed {
		return err
	}
	var is string
	state := `SELECT state FROM ` + o.Kind.Plural() + ` WHERE id = $1`
	if err := o.DB.QueryRow(ctx, state, postgres.Clean(id)).Scan(&is); err != nil {
		return err
	}
	return event.Rejectf(noun+"_ended", "the %s is %s", noun, is)
}

// Cancel ends an operation whose workflow was canceled in Temporal. It doesn't change one that has ended.
func (o Table[T]) Cancel(ctx context.Context, id string) error {
	_, err := o.DB.Exec(ctx, o.change(), postgres.Clean(id), string(operation.Canceled))
	return o.failure("cancel", id, err)
}

// Started returns the audit entry of a new operation.
func (o Table[T]) Started(id string, by oversight.Actor, detail json.RawMessage) oversight.AuditEntry {
	return by.Did(oversight.AuditAction(string(o.Kind)+".start"), string(o.Kind)+":"+id, detail)
}

// QueueLock reads and locks the row of an operation that a page is about to change.
func (o Table[T]) QueueLock(b *pgx.Batch, id string, scan func(pgx.Row) error) {
	b.Queue(o.Select("")+` WHERE id = $1 FOR UPDATE`, postgres.Clean(id)).QueryRow(scan)
}

// QueueEnd ends an operation whose row is locked.
func (o Table[T]) QueueEnd(b *pgx.Batch, id string, state operation.State) {
	b.Queue(`UPDATE `+o.Kind.Plural()+` SET state = $2, ended_at = clock_timestamp() WHERE id = $1`, id, string(state))
}

// Read returns an operation with its progress.
func (o Table[T]) Read(ctx context.Context, id string) (T, error) {
	read, err := o.Scan(o.DB.QueryRow(ctx, o.Select("")+` WHERE id = $1`, postgres.Clean(id)))
	return read, o.failure("read", id, err)
}

// Latest returns up to limit operations, newest first, and never more than event.MaxPage.
func (o Table[T]) Latest(ctx context.Context, limit int) ([]T, error) {
	sql, args := postgres.NewList(o.Select("")).Page("started_at DESC, id DESC", limit)
	all, err := pgx.CollectRows(o.DB.Rows(ctx, sql, args...), func(row pgx.CollectableRow) (T, error) { return o.Scan(row) })
	return all, postgres.Failure("list "+o.Kind.Plural(), err)
}

// Active returns the IDs of the operations that need a workflow, in order.
func (o Table[T]) Active(ctx context.Context) ([]string, error) {
	condition := o.Unfinished
	if condition == "" {
		condition = hasNotEnded
	}
	rows := o.DB.Rows(ctx, `SELECT id FROM `+o.Kind.Plural()+` WHERE `+condition+` ORDER BY id`)
	ids, err := pgx.CollectRows(rows, pgx.RowTo[string])
	return ids, postgres.Failure("list "+o.Kind.Plural(), err)
}

func (o Table[T]) failure(verb, id string, err error) error {
	return postgres.Failure(verb+" "+string(o.Kind)+" "+postgres.Clean(id), err)
}
