package outbox

import (
	"context"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"holdfast/delivery"
	"holdfast/event"
	"holdfast/persistence/journal"
	"holdfast/persistence/postgres"
)

const (
	insertResend = `
INSERT INTO resends (id, subscription_id, everything, rate, started_by, first_id, last_id)
VALUES ($1, $2, $3, $4, $5, $6::uuid, $7::uuid) ON CONFLICT DO NOTHING`

	changeResend = `
UPDATE resends SET state = $2, ended_at = CASE WHEN $2 = 'canceled' THEN clock_timestamp() END
 WHERE id = $1 AND state IN ('running', 'paused')`

	resendColumns = `
SELECT r.id, r.subscription_id, coalesce(s.name, ''), r.everything, r.rate, r.state, r.read, r.queued,
       coalesce(r.first_id::text, ''), coalesce(r.cursor::text, ''), coalesce(r.last_id::text, ''),
       r.started_by, r.started_at, r.ended_at
  FROM resends AS r LEFT JOIN subscriptions AS s ON s.id = r.subscription_id`

	selectResend = resendColumns + ` WHERE r.id = $1`

	activeResends = `SELECT id FROM resends WHERE state IN ('running', 'paused')`
)

// CreateResend makes a resend of the events that were accepted in a time. It stores ID, Subscription (its name or number),
// Everything, Rate, Since, Until and StartedBy; an Until that is zero, or after now, is now. While another one of the
// subscription has not ended it is refused with an event.Error of class rejected and code "resend_runs".
func (s *Store) CreateResend(ctx context.Context, r delivery.Resend, actor event.Actor) (delivery.Resend, error) {
	if err := s.createResend(ctx, r, actor); err != nil {
		return delivery.Resend{}, postgres.Failure("create resend", err)
	}
	return s.Resend(ctx, r.ID)
}

func (s *Store) createResend(ctx context.Context, r delivery.Resend, actor event.Actor) error {
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
	did := actor.Did(event.AuditResendStart, auditObject("resend", r.ID), detail)
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
	ctx context.Context, id string, to event.OperationState, actor event.Actor,
) (delivery.Resend, error) {
	did := actor.Did(resendActions[to], auditObject("resend", id), nil)
	changed, err := journal.Change(ctx, s.db, did, changeResend, postgres.Clean(id), string(to))
	if err != nil {
		return delivery.Resend{}, postgres.Failure("change resend "+postgres.Clean(id), err)
	}
	r, err := s.Resend(ctx, id)
	if err == nil && !changed {
		err = postgres.Failure("change resend "+postgres.Clean(id), event.Rejectf("resend_ended", "the resend is %s", r.State))
	}
	return r, err
}

var resendActions = map[event.OperationState]event.AuditAction{
	event.OperationRunning: event.AuditResendResume, event.OperationPaused: event.AuditResendPause,
	event.OperationCanceled: event.AuditResendCancel,
}

// CancelResend ends a resend whose workflow was canceled in Temporal.
func (s *Store) CancelResend(ctx context.Context, id string) error {
	_, err := s.db.Exec(ctx, changeResend, postgres.Clean(id), string(event.OperationCanceled))
	return postgres.Failure("cancel resend "+postgres.Clean(id), err)
}

// Resend is one resend, as far as it has come.
func (s *Store) Resend(ctx context.Context, id string) (delivery.Resend, error) {
	r, err := scanResend(s.db.QueryRow(ctx, selectResend, postgres.Clean(id)))
	return r.Resend, postgres.Failure("read resend "+postgres.Clean(id), err)
}

// Resends are the latest resends, newest first: at most limit of them, at most event.MaxPage.
func (s *Store) Resends(ctx context.Context, limit int) ([]delivery.Resend, error) {
	sql, args := postgres.NewList(resendColumns).Page("r.started_at DESC, r.id DESC", limit)
	all, err := pgx.CollectRows(s.db.Rows(ctx, sql, args...), func(row pgx.CollectableRow) (delivery.Resend, error) {
		r, err := scanResend(row)
		return r.Resend, err
	})
	return all, postgres.Failure("list resends", err)
}

// ActiveResends are the IDs of the resends that need a workflow.
func (s *Store) ActiveResends(ctx context.Context) ([]string, error) {
	ids, err := pgx.CollectRows(s.db.Rows(ctx, activeResends), pgx.RowTo[string])
	return ids, postgres.Failure("list resends", err)
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
	r.Since, r.Until, r.Reached = timeOf(r.first), timeOf(r.last), timeOf(r.cursor)
	return r, nil
}

// timeOf is the time in the ID of an event, or in a bound of IDs, which has no version; zero where there is none.
func timeOf(id string) time.Time {
	const version = len("00000000-0000-")
	if len(id) <= version {
		return time.Time{}
	}
	at, ok := event.TimeOfID(strings.Join([]string{id[:version], id[version+1:]}, "7"))
	if !ok {
		return time.Time{}
	}
	return at.UTC()
}
