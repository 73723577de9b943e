package journal

import (
	"context"

	"github.com/jackc/pgx/v5"

	"holdfast/event"
	"holdfast/event/operation"
	"holdfast/event/oversight"
	"holdfast/persistence/postgres"
)

// Books are what all operations of a kind are written down in, a row each.
type Books[T any] struct {
	// Noun is what one is called, in texts and in the audit log. Its plural is the name of the table.
	Noun string
	// Columns selects what Scan reads, of all of them.
	Columns string
	Scan    func(pgx.Row) (T, error)
}

// hasNotEnded is true of an operation that somebody can still change.
const hasNotEnded = `state IN ('running', 'paused')`

func (b Books[T]) table() string { return b.Noun + "s" }

func (b Books[T]) change() string {
	return `UPDATE ` + b.table() + ` SET state = $2, ended_at = CASE WHEN $2 = 'canceled' THEN clock_timestamp() END
 WHERE id = $1 AND ` + hasNotEnded
}

// changeVerbs are what the audit log calls what is made of an operation.
var changeVerbs = map[operation.State]string{
	operation.Running: "resume", operation.Paused: "pause", operation.Canceled: "cancel",
}

// Change pauses, resumes or cancels an operation, and audits it. One that has ended is refused with an event.Error of class
// rejected, whose code is the noun and "_ended".
func (b Books[T]) Change(
	ctx context.Context, db *postgres.DB, id string, to operation.State, actor oversight.Actor,
) (of T, err error) {
	if err := b.tryChange(ctx, db, id, to, actor); err != nil {
		return of, postgres.Failure("change "+b.Noun+" "+postgres.Clean(id), err)
	}
	return b.One(ctx, db, id)
}

func (b Books[T]) tryChange(ctx context.Context, db *postgres.DB, id string, to operation.State, actor oversight.Actor) error {
	did := actor.Did(oversight.AuditAction(b.Noun+"."+changeVerbs[to]), b.Noun+":"+id, nil)
	if changed, err := Change(ctx, db, did, b.change(), postgres.Clean(id), string(to)); err != nil || changed {
		return err
	}
	var is string
	if err := db.QueryRow(ctx, `SELECT state FROM `+b.table()+` WHERE id = $1`, postgres.Clean(id)).Scan(&is); err != nil {
		return err
	}
	return event.Rejectf(b.Noun+"_ended", "the %s is %s", b.Noun, is)
}

// Cancel ends an operation whose workflow was canceled in Temporal. One that has ended it leaves alone.
func (b Books[T]) Cancel(ctx context.Context, db *postgres.DB, id string) error {
	_, err := db.Exec(ctx, b.change(), postgres.Clean(id), string(operation.Canceled))
	return postgres.Failure("cancel "+b.Noun+" "+postgres.Clean(id), err)
}

// One is an operation, as far as it has come.
func (b Books[T]) One(ctx context.Context, db *postgres.DB, id string) (T, error) {
	of, err := b.Scan(db.QueryRow(ctx, b.Columns+` WHERE id = $1`, postgres.Clean(id)))
	return of, postgres.Failure("read "+b.Noun+" "+postgres.Clean(id), err)
}

// Latest are the latest operations, newest first: at most limit of them, at most event.MaxPage.
func (b Books[T]) Latest(ctx context.Context, db *postgres.DB, limit int) ([]T, error) {
	sql, args := postgres.NewList(b.Columns).Page("started_at DESC, id DESC", limit)
	all, err := pgx.CollectRows(db.Rows(ctx, sql, args...), func(row pgx.CollectableRow) (T, error) { return b.Scan(row) })
	return all, postgres.Failure("list "+b.table(), err)
}

// Active are the IDs of those that have not ended.
func (b Books[T]) Active(ctx context.Context, db *postgres.DB) ([]string, error) {
	return b.IDs(ctx, db, hasNotEnded)
}

// IDs are the IDs of those of which a condition is true, in their order.
func (b Books[T]) IDs(ctx context.Context, db *postgres.DB, condition string) ([]string, error) {
	rows := db.Rows(ctx, `SELECT id FROM `+b.table()+` WHERE `+condition+` ORDER BY id`)
	ids, err := pgx.CollectRows(rows, pgx.RowTo[string])
	return ids, postgres.Failure("list "+b.table(), err)
}
