package persistence

import (
	"cmp"
	"context"
	"encoding/json"

	"github.com/jackc/pgx/v5"

	"holdfast/event"
)

const insertAudit = `
INSERT INTO audit_log (actor, role, action, object, request_id, reason, detail)
VALUES ($1, $2, $3, $4, $5, $6, $7::jsonb)`

// The longest texts of an entry, in bytes; what is longer is cut.
const (
	maxAuditName   = 200
	maxAuditReason = 2000
)

// queueAudit adds the audit entry of a change to the transaction that makes it, so that there is never one without the
// other. Every method that an operator can change something with calls it exactly once.
func queueAudit(b *pgx.Batch, e event.AuditEntry) {
	var detail *string
	if len(e.Detail) > 0 {
		text := string(e.Detail)
		detail = &text
	}
	b.Queue(insertAudit, clip(clean(cmp.Or(e.Actor, "unknown")), maxAuditName), clip(clean(e.Role), maxAuditName),
		clip(clean(string(e.Action)), maxAuditName), clip(clean(e.Object), maxAuditName),
		clip(clean(e.RequestID), maxAuditName), clip(clean(e.Reason), maxAuditReason), detail)
}

// detailOf is the detail of an entry. Its fields are text, numbers and times, which can always be written; an entry
// without its detail would be better than none.
func detailOf(fields map[string]any) json.RawMessage {
	text, err := json.Marshal(fields)
	if err != nil {
		return nil
	}
	return text
}

// Audit writes an entry of its own, for what is changed outside of this database (a run that is started, a schedule).
func (s *Store) Audit(ctx context.Context, e event.AuditEntry) error {
	b := &pgx.Batch{}
	queueAudit(b, e)
	return failure("write audit log", s.db.sendOnly(ctx, b))
}
