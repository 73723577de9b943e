package audit

import (
	"cmp"
	"context"
	"encoding/json"

	"github.com/jackc/pgx/v5"

	"holdfast/event/oversight"
	"holdfast/persistence/postgres"
)

const insertAudit = `
INSERT INTO audit_log (actor, role, action, object, request_id, reason, detail)
VALUES ($1, $2, $3, $4, $5, $6, $7::jsonb)`

const insertAudits = `
INSERT INTO audit_log (actor, role, action, object, request_id, reason)
SELECT $1, $2, $3, object, $4, $5 FROM unnest($6::text[]) AS changed (object)`

// Limits of an entry's texts, in bytes; longer texts are cut.
const (
	MaxName   = 200
	MaxReason = 2000
)

// Queue adds the audit entry to the transaction that makes the change, so that there is never one without the other. Every method
// with which an operator changes something calls it exactly once.
func Queue(b *pgx.Batch, e oversight.AuditEntry) {
	var detail *string
	if len(e.Detail) > 0 {
		text := string(e.Detail)
		detail = &text
	}
	b.Queue(insertAudit, postgres.Clip(postgres.Clean(cmp.Or(e.Actor, "unknown")), MaxName),
		postgres.Clip(postgres.Clean(e.Role), MaxName),
		postgres.Clip(postgres.Clean(string(e.Action)), MaxName), postgres.Clip(postgres.Clean(e.Object), MaxName),
		postgres.Clip(postgres.Clean(e.RequestID), MaxName), postgres.Clip(postgres.Clean(e.Reason), MaxReason), detail)
}

// QueueEach is Queue for one change of many objects: it adds an entry without detail for each of them.
func QueueEach(b *pgx.Batch, e oversight.AuditEntry, objects []string) {
	clip := func(text string) string { return postgres.Clip(postgres.Clean(text), MaxName) }
	b.Queue(insertAudits, clip(cmp.Or(e.Actor, "unknown")), clip(e.Role), clip(string(e.Action)), clip(e.RequestID),
		postgres.Clip(postgres.Clean(e.Reason), MaxReason), postgres.Column(objects, clip))
}

// Change runs a statement and adds its entry, in one transaction. It returns false, and adds no entry, if the statement changes
// nothing.
func Change(ctx context.Context, db *postgres.DB, e oversight.AuditEntry, sql string, args ...any) (bool, error) {
	var changed int64
	b := &pgx.Batch{}
	b.Queue(sql, args...).Exec(postgres.CountInto(&changed))
	tx, err := db.Begin(ctx, b)
	if err != nil {
		return false, err
	}
	defer tx.Rollback(ctx)
	if changed == 0 {
		return false, nil
	}
	last := &pgx.Batch{}
	Queue(last, e)
	return true, tx.Commit(ctx, last)
}

// DetailOf encodes the detail of an entry. Its fields are text, numbers and times, which can always be encoded; otherwise an
// entry without its detail is better than none.
func DetailOf(fields map[string]any) json.RawMessage {
	text, err := json.Marshal(fields)
	if err != nil {
		return nil
	}
	return text
}

// Audit writes an entry on its own, for changes outside this database (a started run, a schedule).
func (s *Store) Audit(ctx context.Context, e oversight.AuditEntry) error {
	b := &pgx.Batch{}
	Queue(b, e)
	return postgres.Failure("write audit log", s.db.SendOnly(ctx, b))
}

const auditColumns = `SELECT id, at, actor, role, action, object, request_id, reason, detail FROM audit_log`

// AuditLog returns a page of audit entries, newest first.
func (s *Store) AuditLog(ctx context.Context, q oversight.AuditQuery) ([]oversight.AuditEntry, error) {
	list := postgres.NewList(auditColumns)
	list.Equal("actor", q.Actor)
	list.Equal("action", string(q.Action))
	list.Equal("object", q.Object)
	list.Between("at", q.Since, q.Until)
	if q.Before > 0 {
		// A row's position is its time and number; a purged entry has no position, and ends the list.
		list.Where("(at, id) < (SELECT at, id FROM audit_log WHERE id = %s)", q.Before)
	}
	sql, args := list.Page("at DESC, id DESC", q.Limit)
	rows := s.db.Rows(ctx, sql, args...)
	page, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (e oversight.AuditEntry, err error) {
		err = row.Scan(&e.ID, &e.At, &e.Actor, &e.Role, &e.Action, &e.Object, &e.RequestID, &e.Reason, &e.Detail)
		return e, err
	})
	return page, postgres.Failure("list audit log", err)
}

// Store keeps the audit log and the sessions. It is safe for concurrent use.
type Store struct{ db *postgres.DB }

// New makes a Store on a database.
func New(db *postgres.DB) *Store { return &Store{db: db} }
