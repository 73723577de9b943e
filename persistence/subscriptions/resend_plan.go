package subscriptions

import (
	"context"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"holdfast/delivery"
	"holdfast/event"
	"holdfast/event/operation"
	"holdfast/persistence/postgres"
)

const (
	countEvents = `SELECT count(*) FROM events WHERE id >= $1::uuid AND id < $2::uuid`

	// sampleEvents takes every $3rd event, so that busy hours count in proportion.
	sampleEvents = `
SELECT id::text FROM (SELECT id, row_number() OVER (ORDER BY id) AS n FROM events WHERE id >= $1::uuid AND id < $2::uuid) AS e
 WHERE n % $3 = 0 ORDER BY e.id`

	// newestEvents selects up to $3 events of a time range.
	newestEvents = `SELECT id::text FROM events WHERE id >= $1::uuid AND id < $2::uuid ORDER BY events.id DESC LIMIT $3`

	// countResent counts events by their deliveries so far; an event with an open delivery counts only as open.
	countResent = `
SELECT count(q.event_id), count(*) FILTER (WHERE q.event_id IS NULL AND d.status = 'delivered'),
       count(*) FILTER (WHERE q.event_id IS NULL AND d.status = 'failed'),
       count(*) FILTER (WHERE q.event_id IS NULL AND d.event_id IS NULL AND NOT elsewhere),
       count(*) FILTER (WHERE q.event_id IS NULL AND d.event_id IS NULL AND elsewhere)
  FROM unnest($1::uuid[]) AS hit (id)
  LEFT JOIN LATERAL (
       SELECT event_id, status FROM deliveries WHERE event_id = hit.id AND subscription_id = $2 OFFSET 0) AS d ON true
  LEFT JOIN LATERAL (
       SELECT event_id FROM delivery_queue WHERE event_id = hit.id AND subscription_id = $2 OFFSET 0) AS q ON true
 CROSS JOIN LATERAL (SELECT` + wasProcessedElsewhere + ` AS elsewhere) AS was`

	// resentOf reads the first of some events.
	resentOf = `
SELECT ` + resentColumns + ` FROM events AS e
 WHERE e.id = ANY (ARRAY(SELECT id FROM (
       SELECT id, ` + postgres.FitsPage + ` AS fits FROM (
              SELECT e.id, ` + sizeOfBody + ` FROM events AS e
               WHERE e.id = ANY ($2::uuid[]) AND e.id > $3::uuid AND` + mayBeSent + `) AS sized
       WINDOW page AS (ORDER BY id)) AS next WHERE fits))
 ORDER BY e.id`
)

const maxPlanned = 10_000

// Plan counts what a resend of a subscription (by name or number) would do now, without doing it. A zero until means now. first
// bounds the events that it reads, to the newest of the time range; with 0 it counts all, and estimates the rest from a sample.
func (s *Resends) Plan(
	ctx context.Context, nameOrID string, since, until time.Time, first int,
) (p operation.ResendPlan, err error) {
	defer postgres.Annotate(&err, "plan resend")
	span, err := spanOf(since, until)
	if err != nil {
		return p, err
	}
	sub, err := s.subscriptions.subscription(ctx, nameOrID)
	if err != nil {
		return p, err
	}
	if first > 0 {
		ids, err := pgx.CollectRows(s.DB.Rows(ctx, newestEvents, span.first(), span.last(), first+1), pgx.RowTo[string])
		if err != nil {
			return p, err
		}
		if p.AtLeast = len(ids) > first; p.AtLeast {
			ids = ids[:first]
		}
		p.Events = int64(len(ids))
		err = s.planAll(ctx, sub, ids, &p)
		return p, err
	}
	if err := s.DB.QueryRow(ctx, countEvents, span.first(), span.last()).Scan(&p.Events); err != nil {
		return p, err
	}
	step := (p.Events + maxPlanned - 1) / maxPlanned
	ids, err := pgx.CollectRows(s.DB.Rows(ctx, sampleEvents, span.first(), span.last(), max(step, 1)), pgx.RowTo[string])
	if err != nil {
		return p, err
	}
	if err := s.planAll(ctx, sub, ids, &p); err != nil {
		return p, err
	}
	if p.Sampled = step > 1 && len(ids) > 0; p.Sampled {
		for _, n := range []*int64{&p.Matching, &p.Delivered, &p.Open, &p.Failed, &p.Missing, &p.Imported} {
			*n = *n * p.Events / int64(len(ids))
		}
	}
	return p, nil
}

// planAll adds some events to a plan.
func (s *Resends) planAll(ctx context.Context, sub delivery.Subscription, all []string, p *operation.ResendPlan) (err error) {
	of := newResent(sub)
	for ids := range slices.Chunk(all, event.MaxPage) {
		for last := event.FirstIDAt(time.Time{}); last != ""; {
			if last, err = s.planPage(ctx, of, ids, last, p); err != nil {
				return err
			}
		}
	}
	return nil
}

// planPage counts the next events after one, and returns the last; "" if there are no more.
func (s *Resends) planPage(
	ctx context.Context, of resent, ids []string, after string, p *operation.ResendPlan,
) (last string, err error) {
	page, err := of.read(ctx, s.DB.SendRead, resentOf, ids, after)
	if err != nil || page.read == 0 {
		return "", err
	}
	var open, delivered, failed, missing, imported int64
	err = s.DB.QueryRow(ctx, countResent, page.matching, of.ID).Scan(&open, &delivered, &failed, &missing, &imported)
	p.Matching += int64(len(page.matching))
	p.Open, p.Delivered, p.Failed = p.Open+open, p.Delivered+delivered, p.Failed+failed
	p.Missing, p.Imported = p.Missing+missing, p.Imported+imported
	return page.last, err
}
