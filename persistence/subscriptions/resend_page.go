package subscriptions

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"holdfast/delivery"
	"holdfast/event"
	"holdfast/event/operation"
	"holdfast/persistence/outbox"
	"holdfast/persistence/postgres"
)

const (
	subscriptionOfResend = `
SELECT s.id, s.name, s.settings, s.version, s.destination_id, s.active, d.name, s.deleted_at IS NOT NULL,
       s.changed_at > clock_timestamp() - $2::interval
  FROM subscriptions AS s JOIN destinations AS d ON d.id = s.destination_id WHERE s.id = $1`

	// resentColumns are the columns that addMessage reads; the body is null if it isn't needed.
	resentColumns = `e.id::text, true, e.receipt, e.headers, e.type, e.occurred_at, CASE WHEN $1 THEN e.raw_body END,
       coalesce(e.possible_duplicate_of::text, '')`

	// mayBeSent excludes events that an operator has decided about: the decision didn't mean to send them again.
	mayBeSent = `
       e.status = 'processed' AND e.outcome = 'processed' AND NOT EXISTS (SELECT FROM decisions WHERE event_id = e.id OFFSET 0)`

	// sizeOfBody is that of a body that resentColumns read.
	sizeOfBody = `CASE WHEN $1 THEN octet_length(e.raw_body) ELSE 0 END AS size`

	resentEvent = `SELECT ` + resentColumns + ` FROM events AS e WHERE e.id = $2::uuid AND` + mayBeSent

	anyEvent = `SELECT ` + resentColumns + ` FROM events AS e WHERE e.id = $2::uuid`

	// wasProcessedElsewhere is true for an imported event that the previous system had processed: no run has processed it here.
	wasProcessedElsewhere = `
       EXISTS (SELECT FROM events WHERE id = hit.id AND run_id = '' AND receipt->'imported' IS NOT NULL OFFSET 0)`

	// resentEvents continues after $3, which is null at the beginning.
	resentEvents = `
SELECT ` + resentColumns + ` FROM events AS e
 WHERE e.id = ANY (ARRAY(SELECT id FROM (
       SELECT id, ` + postgres.FitsPage + ` AS fits FROM (
              SELECT e.id, ` + sizeOfBody + ` FROM events AS e
               WHERE e.id >= coalesce($3::uuid, $2::uuid) AND e.id < $4::uuid AND e.id IS DISTINCT FROM $3::uuid
                 AND` + mayBeSent + `
               ORDER BY e.id LIMIT $5) AS sized
       WINDOW page AS (ORDER BY id)) AS next WHERE fits))
 ORDER BY e.id`

	// resentHits are the events $1 with their order keys $5.
	resentHits = `unnest($1::uuid[], $5::text[]) WITH ORDINALITY AS hit (id, order_key, n)`

	// resendMissing queues events that never had a delivery, resendAll those without an open one. Ended deliveries are queued as a
	// new generation, and their dead letters wait for the outcome. Both skip events that were processed elsewhere and have no
	// delivery, unless $4 is set.
	resendMissing = `
INSERT INTO delivery_queue (event_id, subscription_id, destination_id, own_id, ` + outbox.OrderColumns + `)
SELECT hit.id, $2, $3, true, ` + outbox.OrderOfHit + `
  FROM ` + resentHits + `
 WHERE NOT EXISTS (SELECT FROM deliveries WHERE event_id = hit.id AND subscription_id = $2 OFFSET 0)
   AND ($4 OR NOT` + wasProcessedElsewhere + `)
    ON CONFLICT DO NOTHING`

	resendAll = `
WITH queued AS (
     INSERT INTO delivery_queue (event_id, subscription_id, destination_id, own_id, generation, ` + outbox.OrderColumns + `)
     SELECT hit.id, $2, $3, true, coalesce(1 + greatest(d.generation, l.failures - 1), 0), ` + outbox.OrderOfHit + `
       FROM ` + resentHits + `
       LEFT JOIN LATERAL (SELECT generation FROM deliveries
                           WHERE event_id = hit.id AND subscription_id = $2 OFFSET 0) AS d ON true
       LEFT JOIN LATERAL (SELECT max(failures) AS failures FROM dead_letters
                           WHERE event_id = hit.id AND subscription_id = $2) AS l ON true
      WHERE $4 OR d.generation IS NOT NULL OR NOT` + wasProcessedElsewhere + `
         ON CONFLICT DO NOTHING
  RETURNING event_id
), waiting AS (
     UPDATE dead_letters SET ` + outbox.Claimed + `
      WHERE id = ANY (ARRAY(
            SELECT l.id FROM queued AS q
             CROSS JOIN LATERAL (
                   SELECT id FROM dead_letters AS l
                    WHERE l.event_id = q.event_id AND l.subscription_id = $2 AND l.state IN ('open', 'exhausted')
                      FOR UPDATE) AS l))
)
SELECT event_id FROM queued`

	advanceResend = `UPDATE resends SET cursor = $2::uuid, read = read + $3, queued = queued + $4 WHERE id = $1`
)

// inFlight is longer than a transaction takes that may have routed its events before a subscription changed: each event that it
// processes is either seen by a resend, or routed with the changed subscription.
const inFlight = 3 * time.Second

// Page checks the next n events of a resend, queues those that match the current subscription, and moves the cursor behind them,
// in one transaction. It checks fewer if their bodies are large. A resend that isn't running is only read, and so is one whose
// subscription has just changed, after a pause. A resend with nothing left is completed, and one whose subscription is gone is
// canceled.
func (s *Resends) Page(ctx context.Context, id string, n int) (operation.Resend, error) {
	const doing = "resend page of "
	if err := s.page(ctx, id, min(max(n, 1), event.MaxPage)); err != nil {
		return operation.Resend{}, postgres.Failure(doing+postgres.Clean(id), err)
	}
	return s.Read(ctx, id)
}

func (s *Resends) page(ctx context.Context, id string, n int) error {
	var r resendRow
	b := &pgx.Batch{}
	b.Queue(`SELECT ` + postgres.SettingsOfPlans)
	s.QueueLock(b, id, func(row pgx.Row) (err error) {
		r, err = scanResend(row)
		return err
	})
	tx, err := s.DB.Begin(ctx, b)
	if err != nil {
		return err
	}
	defer tx.Rollback(ctx)
	if r.State != operation.Running {
		return nil
	}
	of, err := readResent(ctx, tx, r.SubscriptionID)
	switch {
	case err != nil:
		return err
	case of.gone:
		b = &pgx.Batch{}
		s.QueueEnd(b, r.ID, operation.Canceled)
		return tx.Commit(ctx, b)
	case of.isNew:
		tx.Rollback(ctx)
		return rest(ctx)
	}
	page, err := of.read(ctx, tx.Send, resentEvents, r.first, nullable(r.cursor), r.last, n)
	if err != nil {
		return err
	}
	queued, err := of.queue(ctx, tx, page, r.Resend)
	if err != nil {
		return err
	}
	b = &pgx.Batch{}
	if page.read > 0 {
		b.Queue(advanceResend, r.ID, page.last, page.read, queued)
	}
	if page.read == 0 {
		s.QueueEnd(b, r.ID, operation.Completed)
	}
	if err := tx.Commit(ctx, b); err != nil {
		return err
	}
	if queued > 0 {
		s.subscriptions.madeDue(of.Subscription)
	}
	return nil
}

// rest pauses between pages, so that the caller doesn't poll continuously.
func rest(ctx context.Context) error {
	select {
	case <-time.After(inFlight / 10):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func nullable(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

// resent is the subscription of a resend, and finds the events that match it.
type resent struct {
	delivery.Subscription

	gone, isNew bool
	router      *delivery.Router
}

func newResent(s delivery.Subscription) resent {
	of := resent{Subscription: s, router: delivery.NewRouter()}
	s.Active = true // a resend also applies to inactive subscriptions
	of.router.Put(s)
	return of
}

func readResent(ctx context.Context, t *postgres.Transaction, subscriptionID int64) (of resent, err error) {
	var sub delivery.Subscription
	var gone, isNew bool
	b := &pgx.Batch{}
	b.Queue(subscriptionOfResend, subscriptionID, inFlight).QueryRow(func(row pgx.Row) error {
		unreadable, err := scanSubscription(row, &sub, &gone, &isNew)
		if err == nil && unreadable != nil {
			err = errUnreadable
		}
		return err
	})
	if err := t.Send(ctx, b); err != nil {
		return of, err
	}
	of = newResent(sub)
	of.gone, of.isNew = gone, isNew
	return of, nil
}

var errUnreadable = &event.Error{
	Class: event.ClassFailed, Code: "unreadable_subscription", Text: "this version cannot read the subscription",
}

// resentPage is the result of checking some events.
type resentPage struct {
	read     int
	last     string // ID of the last event read
	matching []string
	keys     []string // the order key of each matching event
}

// read checks one event after the other, and never holds more than one body. Events whose filter or order_by fails don't match,
// since it would fail again.
func (o resent) read(
	ctx context.Context, send func(context.Context, *pgx.Batch) error, sql string, args ...any,
) (page resentPage, err error) {
	b := &pgx.Batch{}
	b.Queue(sql, append([]any{o.readsBody()}, args...)...).Query(func(rows pgx.Rows) error {
		for rows.Next() {
			one := map[string]delivery.Message{}
			if err := addMessage(one, rows); err != nil {
				return err
			}
			for id, m := range one {
				hits, err := o.router.Match(ctx, m)
				if err != nil {
					return err
				}
				if page.read, page.last = page.read+1, id; len(hits) > 0 && !hits[0].Failed && !hits[0].OrderFailed {
					page.matching, page.keys = append(page.matching, id), append(page.keys, outbox.StoredOrderKey(o.ID, hits[0].OrderKey))
				}
			}
		}
		return rows.Err()
	})
	return page, send(ctx, b)
}

func (o resent) readsBody() bool { return o.Events.Filter != "" || o.OrderBy != "" }

func (o resent) queue(
	ctx context.Context, t *postgres.Transaction, page resentPage, r operation.Resend,
) (queued int64, err error) {
	if len(page.matching) == 0 {
		return 0, nil
	}
	sql := resendMissing
	if r.Everything {
		sql = resendAll
	}
	b := &pgx.Batch{}
	b.Queue(sql, page.matching, o.ID, o.DestinationID, r.Imported, page.keys).Exec(postgres.CountInto(&queued))
	return queued, t.Send(ctx, b)
}
