package subscriptions

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"holdfast/delivery"
	"holdfast/event"
	"holdfast/event/operation"
	"holdfast/event/oversight"
	"holdfast/persistence/journal"
	"holdfast/persistence/postgres"
)

const (
	insertResend = `
INSERT INTO resends (id, subscription_id, everything, rate, started_by, first_id, last_id)
VALUES ($1, $2, $3, $4, $5, $6::uuid, $7::uuid) ON CONFLICT DO NOTHING`

	resendColumns = `
SELECT id, subscription_id, coalesce((SELECT s.name FROM subscriptions AS s WHERE s.id = subscription_id), ''), everything, rate,
       state, read, queued, coalesce(first_id::text, ''), coalesce(cursor::text, ''), coalesce(last_id::text, ''), started_by,
       started_at, ended_at
  FROM resends`
)

var resends = journal.Books[delivery.Resend]{
	Noun: "resend", Columns: resendColumns,
	Scan: func(row pgx.Row) (delivery.Resend, error) { r, err := scanResend(row); return r.Resend, err },
}

// CreateResend makes a resend of the events that were accepted in a time. It stores ID, Subscription (its name or number),
// Everything, Rate, Since, Until and StartedBy; an Until that is zero, or after now, is now. While another one of the
// subscription has not ended it is refused with an event.Error of class rejected and code "resend_runs".
func (s *Store) CreateResend(ctx context.Context, r delivery.Resend, actor oversight.Actor) (delivery.Resend, error) {
	if err := s.createResend(ctx, r, actor); err != nil {
		return delivery.Resend{}, postgres.Failure("create resend", err)
	}
	return s.Resend(ctx, r.ID)
}

func (s *Store) createResend(ctx context.Context, r delivery.Resend, actor oversight.Actor) error {
	if r.Rate < delivery.MinResendRate || r.Rate > delivery.MaxResendRate {
		return event.Rejectf("invalid_rate", "the rate must be %v to %v deliveries a second",
			delivery.MinResendRate, delivery.MaxResendRate)
	}
	span, err := spanOf(r.Since, r.Until)
	if err != nil {
		return err
	}
	sub, err := s.subscription(ctx, r.Subscription)
	if err != nil {
		return err
	}
	detail := journal.DetailOf(map[string]any{
		"subscription": sub.Name, "everything": r.Everything, "rate": r.Rate, "since": span.since, "until": span.until,
	})
	did := actor.Did(oversight.AuditResendStart, auditObject("resend", r.ID), detail)
	made, err := journal.Change(ctx, s.db, did, insertResend, r.ID, sub.ID, r.Everything, r.Rate, postgres.Clean(r.StartedBy),
		span.first(), span.last())
	if err == nil && !made {
		err = event.Rejectf("resend_runs", "another resend of the subscription has not ended: one works at a time")
	}
	return err
}

// span is a time in which events were accepted: since ≤ time < until.
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

// ChangeResend pauses, resumes or cancels a resend. One that has ended is refused with an event.Error of class rejected and code
// "resend_ended".
func (s *Store) ChangeResend(
	ctx context.Context, id string, to operation.State, actor oversight.Actor,
) (delivery.Resend, error) {
	return resends.Change(ctx, s.db, id, to, actor)
}

// CancelResend ends a resend whose workflow was canceled in Temporal.
func (s *Store) CancelResend(ctx context.Context, id string) error {
	return resends.Cancel(ctx, s.db, id)
}

// Resend is one resend, as far as it has come.
func (s *Store) Resend(ctx context.Context, id string) (delivery.Resend, error) {
	return resends.One(ctx, s.db, id)
}

// Resends are the latest resends, newest first: at most limit of them, at most event.MaxPage.
func (s *Store) Resends(ctx context.Context, limit int) ([]delivery.Resend, error) {
	return resends.Latest(ctx, s.db, limit)
}

// ActiveResends are the IDs of the resends that need a workflow.
func (s *Store) ActiveResends(ctx context.Context) ([]string, error) {
	return resends.Active(ctx, s.db)
}

// resendRow is a resend as its row says.
type resendRow struct {
	delivery.Resend

	first, cursor, last string // IDs of events; no cursor is ""
}

func scanResend(row pgx.Row) (r resendRow, err error) {
	if err := row.Scan(&r.ID, &r.SubscriptionID, &r.Subscription, &r.Everything, &r.Rate, &r.State, &r.Read, &r.Queued,
		&r.first, &r.cursor, &r.last, &r.StartedBy, &r.StartedAt, &r.EndedAt); err != nil {
		return r, err
	}
	r.StartedAt, r.EndedAt = r.StartedAt.UTC(), postgres.UTC(r.EndedAt)
	r.Since, r.Until, r.Reached = event.AcceptedAt(r.first), event.AcceptedAt(r.last), event.AcceptedAt(r.cursor)
	return r, nil
}
