package subscriptions

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"holdfast/event"
	"holdfast/event/operation"
	"holdfast/event/oversight"
	"holdfast/persistence/audit"
	"holdfast/persistence/bulk"
	"holdfast/persistence/postgres"
)

const (
	insertResend = `
INSERT INTO resends (id, subscription_id, everything, imported, rate, started_by, first_id, last_id)
VALUES ($1, $2, $3, $4, $5, $6, $7::uuid, $8::uuid) ON CONFLICT DO NOTHING`

	resendColumns = `subscription_id,
       coalesce((SELECT s.name FROM subscriptions AS s WHERE s.id = subscription_id), ''), everything, imported, read, queued,
       coalesce(first_id::text, ''), coalesce(cursor::text, ''), coalesce(last_id::text, '')`
)

// Resends stores resends, and runs their pages. It is safe for concurrent use.
type Resends struct {
	bulk.Table[operation.Resend]

	subscriptions *Store
}

// NewResends makes the Resends of a database, for the subscriptions of a Store.
func NewResends(db *postgres.DB, s *Store) *Resends {
	return &Resends{bulk.Table[operation.Resend]{
		DB: db, Kind: operation.KindResend, Columns: resendColumns,
		Scan: func(row pgx.Row) (operation.Resend, error) { r, err := scanResend(row); return r.Resend, err },
	}, s}
}

// Create stores a resend of the events accepted in a time range. It uses ID, Subscription (name or number), Everything, Imported,
// Rate, Since and Until; an Until that is zero, or after now, means now. While another resend of the subscription has not ended,
// it is refused with an event.Error of class rejected and code "resend_runs".
func (s *Resends) Create(ctx context.Context, r operation.Resend, by oversight.Actor) (operation.Resend, error) {
	if err := s.create(ctx, r, by); err != nil {
		return operation.Resend{}, postgres.Failure("create resend", err)
	}
	return s.Read(ctx, r.ID)
}

func (s *Resends) create(ctx context.Context, r operation.Resend, by oversight.Actor) error {
	span, err := spanOf(r.Since, r.Until)
	if err != nil {
		return err
	}
	sub, err := s.subscriptions.subscription(ctx, r.Subscription)
	if err != nil {
		return err
	}
	detail := audit.DetailOf(map[string]any{
		"subscription": sub.Name, "everything": r.Everything, "imported": r.Imported, "rate": r.Rate,
		"since": span.since, "until": span.until,
	})
	made, err := audit.Change(ctx, s.DB, s.Started(r.ID, by, detail), insertResend, r.ID, sub.ID, r.Everything, r.Imported,
		r.Rate, postgres.Clean(by.Name), span.first(), span.last())
	if err == nil && !made {
		err = event.Rejectf("resend_runs", "another resend of the subscription has not ended: one works at a time")
	}
	return err
}

// span is the time range in which events were accepted: since ≤ time < until.
type span struct{ since, until time.Time }

func spanOf(since, until time.Time) (span, error) {
	if latest := now(); until.IsZero() || until.After(latest) {
		until = latest
	}
	if !since.Before(until) {
		return span{}, event.Rejectf("invalid_time", "the time must begin before it ends, and before now")
	}
	return span{since.UTC(), until.UTC()}, nil
}

// first and last are the bounds of its IDs: first ≤ ID < last.
func (s span) first() string { return event.FirstIDAt(s.since) }
func (s span) last() string  { return event.FirstIDAt(s.until) }

type resendRow struct {
	operation.Resend

	first, cursor, last string // event IDs; "" if there is no cursor
}

func scanResend(row pgx.Row) (r resendRow, err error) {
	err = bulk.Scan(row, &r.Base, &r.SubscriptionID, &r.Subscription, &r.Everything, &r.Imported, &r.Read, &r.Queued,
		&r.first, &r.cursor, &r.last)
	r.Since, r.Until, r.Reached = event.AcceptedAt(r.first), event.AcceptedAt(r.last), event.AcceptedAt(r.cursor)
	return r, err
}
