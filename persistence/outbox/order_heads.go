package outbox

import (
	"context"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"

	"holdfast/delivery"
	"holdfast/event"
	"holdfast/event/oversight"
	"holdfast/persistence/audit"
	"holdfast/persistence/postgres"
)

const (
	// headsOf reads the oldest heads of a subscription, or the one of key $2. Up to 1,000 deliveries behind a head are counted; if
	// there are more, the places of the first and the last one give an upper bound.
	headsOf = `
SELECT ` + keyOfQ + `, q.event_id::text, ` + openStatus + `, q.order_state = 'paused', q.attempts, q.last_code, q.head_since,
       CASE WHEN q.lease IS NULL OR q.due_at <= statement_timestamp() THEN nullif(q.due_at, 'infinity') END,
       CASE WHEN behind.n <= 1000 THEN behind.n ELSE 1 + (
            SELECT order_place FROM delivery_queue AS w
             WHERE w.order_key = q.order_key AND w.order_state = 'waiting'
             ORDER BY w.order_place DESC LIMIT 1) - (
            SELECT order_place FROM delivery_queue AS w
             WHERE w.order_key = q.order_key AND w.order_state = 'waiting'
             ORDER BY w.order_place LIMIT 1) END
  FROM (SELECT * FROM delivery_queue
         WHERE subscription_id = $1 AND order_state IN ('head', 'paused') AND ($2 = '' OR order_key = $2)
         ORDER BY head_since LIMIT $3) AS q
 CROSS JOIN LATERAL (
       SELECT count(*) AS n FROM (
              SELECT FROM delivery_queue AS w
               WHERE w.order_key = q.order_key AND w.order_state = 'waiting' LIMIT 1001) AS w) AS behind
 ORDER BY q.head_since`

	countOrdered = `
SELECT (SELECT count(*) FROM (SELECT FROM delivery_queue
                               WHERE order_key >= $1 || ':' AND order_key < $1 || ';' AND order_state IN ('head', 'paused')
                               LIMIT $2) AS heads),
       (SELECT count(*) FROM (SELECT FROM delivery_queue
                               WHERE order_key >= $1 || ':' AND order_key < $1 || ';' AND order_state = 'waiting'
                               LIMIT $2) AS behind),
       unsorted.n, unsorted.since
  FROM (SELECT count(*) AS n, min(queued_at) AS since
          FROM (SELECT queued_at FROM (SELECT coalesce(head_since, queued_at) AS queued_at, order_key FROM delivery_queue
                                        WHERE order_state = 'new'
                                        ORDER BY order_xid, order_place LIMIT $2) AS first_ones
                 WHERE order_key >= $1 || ':' AND order_key < $1 || ';') AS of_subscription) AS unsorted`

	// readBacklog reads up to 20 heads of each subscription that has any: those that have been there the longest, with others behind
	// them. It looks among the 1,000 oldest heads: a paused destination may have a million with nothing behind them.
	readBacklog = `
WITH RECURSIVE ordered (id) AS (
     (SELECT subscription_id FROM delivery_queue WHERE order_state IN ('head', 'paused') ORDER BY subscription_id LIMIT 1)
      UNION ALL
     SELECT (SELECT subscription_id FROM delivery_queue AS q
              WHERE q.order_state IN ('head', 'paused') AND q.subscription_id > ordered.id ORDER BY q.subscription_id LIMIT 1)
       FROM ordered WHERE ordered.id IS NOT NULL
), oldest AS MATERIALIZED (
     SELECT o.id, h.head_since FROM ordered AS o CROSS JOIN LATERAL (
            SELECT q.head_since FROM (
                   SELECT head_since, order_key FROM delivery_queue
                    WHERE subscription_id = o.id AND order_state IN ('head', 'paused') ORDER BY head_since LIMIT 1000) AS q
             WHERE EXISTS (
                   SELECT FROM delivery_queue AS w
                    WHERE w.order_key = q.order_key AND w.order_state = 'waiting' OFFSET 0)
             ORDER BY q.head_since LIMIT 20) AS h
      WHERE o.id IS NOT NULL
)
SELECT count(*) FILTER (WHERE head_since < statement_timestamp() - $1::interval),
       coalesce(statement_timestamp() - min(head_since), '0'),
       coalesce(statement_timestamp() - (SELECT coalesce(head_since, queued_at) FROM delivery_queue WHERE order_state = 'new'
                                          ORDER BY order_xid, order_place LIMIT 1), '0'),
       ARRAY(SELECT name FROM (SELECT DISTINCT s.name FROM oldest JOIN subscriptions AS s ON s.id = oldest.id
                                WHERE head_since < statement_timestamp() - $1::interval) AS named ORDER BY name LIMIT 5)
  FROM oldest`

	// skipHead sets head_since to when the delivery was skipped, since when it isn't sorted.
	skipHead = `
WITH skipped AS (
     UPDATE delivery_queue
        SET order_state = 'new', order_xid = pg_current_xact_id(), order_place = 0, head_since = statement_timestamp(),
            due_at = 'infinity', lease = NULL
      WHERE event_id = $1::uuid AND subscription_id = $2 AND order_state IN ('head', 'paused')
  RETURNING order_key
)
INSERT INTO delivery_order_freed (order_key) SELECT order_key FROM skipped`

	pauseHead = `
UPDATE delivery_queue SET order_state = 'paused', due_at = 'infinity', lease = NULL
 WHERE event_id = $1::uuid AND subscription_id = $2 AND order_state = 'head'`
)

// Ordered returns the state of a subscription's ordered deliveries, with up to limit heads: those that have been there the
// longest. A key that isn't "" selects one; it may be a value that delivery.OrderKey would shorten.
func (s *Store) Ordered(ctx context.Context, subscriptionID int64, key string, limit int) (o delivery.Ordered, err error) {
	o.Heads = []delivery.OrderHead{}
	b := &pgx.Batch{}
	b.Queue(postgres.InOrder)
	if key, err = delivery.OrderKey(key); err != nil {
		return o, err
	}
	key = StoredOrderKey(subscriptionID, key)
	b.Queue(headsOf, subscriptionID, key, min(limit, delivery.MaxOrderHeads)).Query(func(rows pgx.Rows) (err error) {
		o.Heads, err = pgx.AppendRows(o.Heads, rows, func(row pgx.CollectableRow) (h delivery.OrderHead, err error) {
			err = row.Scan(&h.OrderKey, &h.EventID, &h.Status, &h.Paused, &h.Attempts, &h.Code, &h.Since, &h.DueAt, &h.Waiting)
			return h, err
		})
		return err
	})
	b.Queue(countOrdered, strconv.FormatInt(subscriptionID, 10), delivery.MaxOrderCounted).QueryRow(func(row pgx.Row) error {
		return row.Scan(&o.Keys, &o.Waiting, &o.Unsorted, &o.UnsortedSince)
	})
	return o, postgres.Failure("read ordered deliveries", s.db.SendRead(ctx, b))
}

// OrderBacklog returns the state of the ordered deliveries of all subscriptions. It counts up to 20 blocked keys of each.
func (s *Store) OrderBacklog(ctx context.Context) (l delivery.OrderBacklog, err error) {
	b := &pgx.Batch{}
	b.Queue(postgres.InOrder)
	b.Queue(readBacklog, delivery.OrderBlockedAfter).QueryRow(func(row pgx.Row) error {
		return row.Scan(&l.Blocked, &l.OldestHead, &l.OldestUnsorted, &l.Examples)
	})
	return l, postgres.Failure("read ordered deliveries", s.db.SendRead(ctx, b))
}

// SkipHead moves the head of a key to the end of the key, so that the next delivery becomes the head. Its attempts so far count.
func (s *Store) SkipHead(ctx context.Context, k delivery.Key, by oversight.Actor) (delivery.Delivery, error) {
	return s.changeHead(ctx, k, skipHead, by.Did(oversight.AuditDeliverySkip, objectOfDelivery(k), nil))
}

// PauseHead stops the head of a key, and with it the key, until ResumeHead.
func (s *Store) PauseHead(ctx context.Context, k delivery.Key, by oversight.Actor) (delivery.Delivery, error) {
	return s.changeHead(ctx, k, pauseHead, by.Did(oversight.AuditDeliveryPause, objectOfDelivery(k), nil))
}

// ResumeHead makes the head of a key due now, also if it isn't paused.
func (s *Store) ResumeHead(ctx context.Context, k delivery.Key, by oversight.Actor) (delivery.Delivery, error) {
	return s.changeHead(ctx, k, makeDueNow, by.Did(oversight.AuditDeliveryResume, objectOfDelivery(k), nil))
}

// changeHead returns event.ErrNotFound if the delivery isn't open, and an error of class rejected if it isn't the head of a key,
// or an attempt is under way.
func (s *Store) changeHead(
	ctx context.Context, k delivery.Key, sql string, did oversight.AuditEntry,
) (changed delivery.Delivery, err error) {
	defer postgres.Annotate(&err, "change head of an order")
	k.EventID = strings.ToLower(postgres.Clean(k.EventID))
	open, tx, err := s.lockQueued(ctx, k)
	if err != nil {
		return changed, err
	}
	defer tx.Rollback(ctx)
	switch {
	case open.destination == 0:
		return changed, event.ErrNotFound
	case open.inProgress:
		return changed, errInProgress
	case open.order == "":
		return changed, event.Rejectf("not_ordered", "this delivery has no order: it blocks no other")
	case open.isBehind():
		return changed, errWaits
	}
	b := &pgx.Batch{}
	b.Queue(sql, k.EventID, k.SubscriptionID)
	audit.Queue(b, did)
	if err := tx.Commit(ctx, b); err != nil {
		return changed, err
	}
	s.wake(ctx, open.destination)
	s.SignalSort()
	return s.Delivery(ctx, k)
}
