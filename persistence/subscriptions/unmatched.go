package subscriptions

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"holdfast/delivery"
	"holdfast/event"
	"holdfast/persistence/outbox"
	"holdfast/persistence/postgres"
)

const (
	queueUnmatched = `
INSERT INTO delivery_unmatched (event_id, subscriptions) VALUES ($1, $2::text::int8multirange) ON CONFLICT DO NOTHING`

	// takeUnmatched locks the row of the event that has waited longest and that no other process is working on. The event's columns
	// are those that addMessage reads; they are null if the event is gone.
	takeUnmatched = `
WITH taken AS MATERIALIZED (
     SELECT * FROM delivery_unmatched ORDER BY event_id LIMIT 1 FOR UPDATE SKIP LOCKED
)
SELECT t.event_id::text, ` + HeadVersion + `,
       ARRAY(SELECT generate_series(lower(r), upper(r) - 1) FROM unnest(t.subscriptions) AS r),
       t.event_id::text, e.id IS NOT NULL, e.receipt, e.headers, coalesce(e.type, ''), e.occurred_at, e.raw_body, ''
  FROM taken AS t LEFT JOIN LATERAL (SELECT * FROM events WHERE id = t.event_id OFFSET 0) AS e ON true`

	// queueMatched ignores deliveries that exist: a resend may have been faster.
	queueMatched = `
WITH queued AS (
     INSERT INTO delivery_queue (event_id, subscription_id, destination_id, own_id, ` + outbox.OrderColumns + `)
     SELECT $1::uuid, s.id, s.destination_id, true, ` + outbox.OrderOfHit + `
       FROM unnest($2::bigint[], $3::text[]) WITH ORDINALITY AS hit (id, order_key, n)
       JOIN subscriptions AS s ON s.id = hit.id AND s.deleted_at IS NULL
      WHERE NOT EXISTS (SELECT FROM deliveries WHERE event_id = $1::uuid AND subscription_id = hit.id OFFSET 0)
         ON CONFLICT DO NOTHING
  RETURNING destination_id
)
SELECT coalesce(array_agg(DISTINCT destination_id), '{}') FROM queued`

	leaveUnmatched = `UPDATE delivery_unmatched SET subscriptions = $2::text::int8multirange WHERE event_id = $1`

	deleteUnmatched = `DELETE FROM delivery_unmatched WHERE event_id = $1`
)

// unmatched is a row of delivery_unmatched.
type unmatched struct {
	eventID string
	head    int64 // version of the subscriptions
	ids     []int64
	event   map[string]delivery.Message // empty if it is gone
}

func (u *unmatched) scan(row pgx.CollectableRow) error {
	u.event = map[string]delivery.Message{}
	return addMessage(u.event, row, &u.eventID, &u.head, &u.ids)
}

// FinishMatching matches an event with a page of the subscriptions that its own transaction left, and reports whether there may
// be more to do. It is safe to run in several processes at once.
//
// The subscriptions are those that the event's transaction left, as they are now: one that has been deleted or deactivated
// meanwhile gets nothing, one with another filter what that selects. One that was created or activated meanwhile gets nothing.
func (s *Store) FinishMatching(ctx context.Context) (more bool, err error) {
	defer postgres.Annotate(&err, "finish matching an event")
	var u unmatched
	b := &pgx.Batch{}
	b.Queue(`SELECT ` + postgres.SettingsOfPlans)
	b.Queue(takeUnmatched).Query(func(rows pgx.Rows) error {
		_, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (struct{}, error) { return struct{}{}, u.scan(row) })
		return err
	})
	tx, err := s.db.Begin(ctx, b)
	if err != nil {
		return false, err
	}
	defer tx.Rollback(ctx)
	if u.eventID == "" {
		return false, nil
	}
	var destinations []int64
	b = &pgx.Batch{}
	if err := s.queueMatches(ctx, tx, b, u, &destinations); err != nil {
		return false, err
	}
	if err := tx.Commit(ctx, b); err != nil {
		return false, err
	}
	s.outbox.MadeDue(destinations...)
	return true, nil
}

// queueMatches evaluates the filters of a page, and queues what follows from that.
func (s *Store) queueMatches(
	ctx context.Context, t *postgres.Transaction, b *pgx.Batch, u unmatched, destinations *[]int64,
) error {
	if err := s.Follow(ctx, t, u.head, nil); err != nil {
		return err
	}
	m, isStored := u.event[u.eventID]
	if !isStored {
		b.Queue(deleteUnmatched, u.eventID)
		return nil
	}
	page := min(len(u.ids), maxOfGroup)
	hits, left, err := s.cache.router.MatchWithin(ctx, m, u.ids[:page], s.Budget(filterTimeOfPage))
	if err != nil {
		return err
	}
	wanted, ordered, broken := Routed{hits: hits}.split()
	if wanted = append(wanted, ordered...); len(wanted) > 0 {
		ids := postgres.Column(wanted, func(h delivery.Hit) int64 { return h.SubscriptionID })
		keys := postgres.Column(wanted, func(h delivery.Hit) string { return outbox.StoredOrderKey(h.SubscriptionID, h.OrderKey) })
		b.Queue(queueMatched, u.eventID, ids, keys).QueryRow(func(row pgx.Row) error { return row.Scan(destinations) })
	}
	var failed pairs
	failed.add(u.eventID, broken)
	failed.queueFailed(b)
	if left = append(left, u.ids[page:]...); len(left) > 0 {
		b.Queue(leaveUnmatched, u.eventID, rangesOf(left))
	} else {
		b.Queue(deleteUnmatched, u.eventID)
	}
	return nil
}

func (p *pairs) queueFailed(b *pgx.Batch) {
	if len(p.events) > 0 {
		b.Queue(failDeliveries, p.events, p.subscriptions, p.destinations, p.codes, string(event.StepDeliver))
	}
}

// rangesOf returns ascending numbers in PostgreSQL's form of a multirange: subscriptions that are left are often consecutive.
func rangesOf(ids []int64) string {
	var ranges []string
	for i, first := 0, 0; i < len(ids); i++ {
		if i+1 == len(ids) || ids[i+1] != ids[i]+1 {
			ranges = append(ranges, fmt.Sprintf("[%d,%d]", ids[first], ids[i]))
			first = i + 1
		}
	}
	return "{" + strings.Join(ranges, ",") + "}"
}
