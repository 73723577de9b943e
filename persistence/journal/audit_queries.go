package journal

import (
	"context"

	"github.com/jackc/pgx/v5"

	"holdfast/event/oversight"
	"holdfast/persistence/postgres"
)

const auditColumns = `SELECT id, at, actor, role, action, object, request_id, reason, detail FROM audit_log`

// AuditLog is a page of what operators did, newest first.
func (s *Store) AuditLog(ctx context.Context, q oversight.AuditQuery) ([]oversight.AuditEntry, error) {
	list := postgres.NewList(auditColumns)
	list.Equal("actor", q.Actor)
	list.Equal("action", string(q.Action))
	list.Equal("object", q.Object)
	list.Between("at", q.Since, q.Until)
	if q.Before > 0 {
		// The place of a row is its time and number; an entry that has been purged has none, and ends the list.
		list.Where("(at, id) < (SELECT at, id FROM audit_log WHERE id = %s)", q.Before)
	}
	sql, args := list.Page("at DESC, id DESC", q.Limit)
	rows, err := s.db.Query(ctx, sql, args...)
	if err != nil {
		return nil, postgres.Failure("list audit log", err)
	}
	page, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (e oversight.AuditEntry, err error) {
		err = row.Scan(&e.ID, &e.At, &e.Actor, &e.Role, &e.Action, &e.Object, &e.RequestID, &e.Reason, &e.Detail)
		e.At = e.At.UTC()
		return e, err
	})
	return page, postgres.Failure("list audit log", err)
}
