package outbox

import (
	"context"
	"errors"
	"slices"
	"strconv"

	"github.com/jackc/pgx/v5"

	"holdfast/delivery"
	"holdfast/event"
	"holdfast/persistence/postgres"
)

const (
	openStatus = `
       CASE WHEN q.lease IS NOT NULL AND q.due_at > statement_timestamp() THEN 'processing'
            WHEN q.attempts > 0 THEN 'retrying' ELSE 'pending' END`

	// openColumns are the columns of a queued delivery; if due_at has passed, the delivery waits for something other than time.
	openColumns = `
SELECT q.event_id::text, q.subscription_id, coalesce(sub.name, ''), q.destination_id, coalesce(dest.name, ''),
       coalesce(e.provider, ''), coalesce(e.type, ''), ` + openStatus + `, q.last_code, q.attempts, q.generation,
       ` + keyOfQ + `, CASE WHEN q.lease IS NOT NULL AND q.due_at > statement_timestamp() THEN ''
            WHEN q.order_state = 'new' THEN 'unsorted' WHEN q.order_state = 'waiting' THEN 'order'
            WHEN q.order_state = 'paused' THEN 'key_paused'
            WHEN s.state IN ('paused', 'disabled') THEN s.state
            WHEN s.breaker = 'open' THEN 'breaker'
            WHEN s.resume_at > statement_timestamp() THEN 'busy'
            WHEN q.due_at <= statement_timestamp() AND s.held IN ('full', 'rate') THEN s.held
            ELSE 'due' END,
       q.queued_at, CASE WHEN q.lease IS NULL OR q.due_at <= statement_timestamp() THEN nullif(q.due_at, 'infinity') END,
       NULL::timestamptz, 0,
       last.answer, coalesce(last.error, '')`

	endedColumns = `
SELECT q.event_id::text, q.subscription_id, coalesce(sub.name, ''), q.destination_id, coalesce(dest.name, ''),
       coalesce(e.provider, ''), coalesce(e.type, ''), q.status, q.code, q.attempts, q.generation, '', '', q.queued_at,
       NULL::timestamptz, q.done_at, q.ms, q.answer, coalesce(last.error, '')`

	namesOfQ = `
  LEFT JOIN subscriptions AS sub ON sub.id = q.subscription_id
  LEFT JOIN destinations AS dest ON dest.id = q.destination_id
  LEFT JOIN LATERAL (SELECT provider, type FROM events WHERE id = q.event_id OFFSET 0) AS e ON true`

	// lastOfQ selects the last attempt that has its own row; first successes have none, and no error.
	lastOfQ = `
  LEFT JOIN LATERAL (SELECT a.answer, a.error FROM delivery_attempts AS a
                      WHERE q.attempts > 0 AND a.event_id = q.event_id AND a.subscription_id = q.subscription_id
                      ORDER BY a.at DESC LIMIT 1) AS last ON true`

	statesOfQ = `
  LEFT JOIN destination_states AS s ON s.destination_id = q.destination_id`

	// endedAlone leaves out ended deliveries that were sent again and are still open.
	endedAlone = `
   NOT EXISTS (SELECT FROM delivery_queue AS o WHERE o.event_id = q.event_id AND o.subscription_id = q.subscription_id OFFSET 0)`

	deliveriesOf = openColumns + ` FROM (SELECT * FROM delivery_queue WHERE event_id = $1::uuid OFFSET 0) AS q` +
		namesOfQ + statesOfQ + lastOfQ + `
 UNION ALL ` + endedColumns + ` FROM deliveries AS q` + namesOfQ + lastOfQ + ` WHERE q.event_id = $1::uuid AND ` + endedAlone + `
 ORDER BY 2`

	deliveryOfKey = openColumns + `
  FROM (SELECT * FROM delivery_queue WHERE event_id = $1::uuid AND subscription_id = $2 OFFSET 0) AS q` +
		namesOfQ + statesOfQ + lastOfQ + `
 UNION ALL ` + endedColumns + ` FROM deliveries AS q` + namesOfQ + lastOfQ + `
 WHERE q.event_id = $1::uuid AND q.subscription_id = $2 AND ` + endedAlone

	// attemptsOf lists the attempts that have a row of their own and the first successes, which are stored in the delivery's row.
	attemptsOf = `
SELECT a.event_id::text, a.subscription_id, coalesce(sub.name, ''), a.at AS at, a.generation, a.ok,
       a.code, a.error, a.ms, a.answer
  FROM delivery_attempts AS a LEFT JOIN subscriptions AS sub ON sub.id = a.subscription_id
 WHERE a.event_id = $1::uuid
 UNION ALL
SELECT d.event_id::text, d.subscription_id, coalesce(sub.name, ''), d.done_at - d.ms * interval '1 ms', 0, true,
       d.code, '', d.ms, d.answer
  FROM deliveries AS d LEFT JOIN subscriptions AS sub ON sub.id = d.subscription_id
 WHERE d.event_id = $1::uuid AND d.status = 'delivered' AND d.generation = 0 AND d.attempts = 1
   AND NOT EXISTS (SELECT FROM delivery_attempts AS a
                    WHERE a.event_id = d.event_id AND a.subscription_id = d.subscription_id AND a.ok)
 ORDER BY at`
)

// DeliveriesOf returns all deliveries of an event, by subscription.
func (s *Store) DeliveriesOf(ctx context.Context, eventID string) ([]delivery.Delivery, error) {
	all, err := pgx.CollectRows(s.db.Rows(ctx, deliveriesOf, postgres.Clean(eventID)), scanDelivery)
	return all, postgres.Failure("list deliveries of event "+postgres.Clean(eventID), err)
}

// AttemptsOf returns all attempts of an event's deliveries that have an outcome, oldest first, without those that failed for an
// internal reason.
func (s *Store) AttemptsOf(ctx context.Context, eventID string) ([]delivery.Attempt, error) {
	all, err := pgx.CollectRows(s.db.Rows(ctx, attemptsOf, postgres.Clean(eventID)), scanAttempt)
	number := map[int64]int{}
	for i, a := range all {
		number[a.SubscriptionID]++
		all[i].Number = number[a.SubscriptionID]
	}
	return all, postgres.Failure("list attempts of event "+postgres.Clean(eventID), err)
}

// statusesOf also bounds the IDs, so that only the partitions that may have them are read.
const statusesOf = `
SELECT q.event_id::text, ` + openStatus + ` FROM delivery_queue AS q WHERE q.event_id = ANY ($1::uuid[])
 UNION ALL
SELECT q.event_id::text, q.status FROM deliveries AS q
 WHERE q.event_id = ANY ($1::uuid[]) AND q.event_id BETWEEN $2::uuid AND $3::uuid AND ` + endedAlone

// StatusesOf returns one status for the deliveries of each event: see delivery.Summary. Events without deliveries have none.
func (s *Store) StatusesOf(ctx context.Context, eventIDs []string) (map[string]delivery.Status, error) {
	if len(eventIDs) == 0 {
		return nil, nil
	}
	all := map[string][]delivery.Status{}
	var id string
	var status delivery.Status
	rows := s.db.Rows(ctx, statusesOf, eventIDs, slices.Min(eventIDs), slices.Max(eventIDs))
	_, err := pgx.ForEachRow(rows, []any{&id, &status}, func() error { all[id] = append(all[id], status); return nil })
	of := make(map[string]delivery.Status, len(all))
	for id, statuses := range all {
		of[id] = delivery.Summary(statuses)
	}
	return of, postgres.Failure("read statuses of deliveries", err)
}

// WithStatus lists the events of deliveries, among which are those with a status, and says of each whether it has it.
func WithStatus(status delivery.Status) *postgres.List {
	table, has := `deliveries`, `q.status = $1 AND`+endedAlone
	switch status {
	case delivery.Delivered, delivery.Failed, delivery.Canceled:
	default:
		table, has = `delivery_queue`, openStatus+` = $1`
	}
	list := &postgres.List{Args: []any{string(status)}}
	list.Selection = `SELECT q.event_id, ` + has + ` AS has_status FROM ` + table + ` AS q`
	if status == delivery.Failed || status == delivery.Canceled {
		list.Where(`q.status <> 'delivered'`) // they have an index
	}
	return list
}

// Delivery returns one delivery. It returns event.ErrNotFound if there is none.
func (s *Store) Delivery(ctx context.Context, k delivery.Key) (delivery.Delivery, error) {
	found, err := pgx.CollectExactlyOneRow(s.db.Rows(ctx, deliveryOfKey, postgres.Clean(k.EventID), k.SubscriptionID), scanDelivery)
	if errors.Is(err, pgx.ErrNoRows) {
		err = event.ErrNotFound
	}
	return found, postgres.Failure("read delivery", err)
}

// Deliveries returns a page of deliveries, newest event first.
func (s *Store) Deliveries(ctx context.Context, q delivery.Query) ([]delivery.Delivery, error) {
	if q.Limit <= 0 || q.Limit > event.MaxPage {
		q.Limit = event.MaxPage
	}
	sql, args := selectDeliveries(q)
	if sql == "" {
		return nil, nil
	}
	page, err := pgx.CollectRows(s.db.Rows(ctx, sql, args...), scanDelivery)
	return page, postgres.Failure("list deliveries", err)
}

// selectDeliveries returns one statement, also if it needs both tables: deliveries move between them. It is empty if no delivery
// can match.
func selectDeliveries(q delivery.Query) (sql string, args []any) {
	var parts []string
	if open := openList(q); open != nil {
		sql, args = pageOf(open, q, openColumns, namesOfQ+statesOfQ+lastOfQ)
		parts = append(parts, sql)
	}
	if ended := endedList(q, args); ended != nil {
		sql, args = pageOf(ended, q, endedColumns, namesOfQ+lastOfQ)
		parts = append(parts, sql)
	}
	if len(parts) == 2 {
		sql = `(` + parts[0] + `) UNION ALL (` + parts[1] + `) ORDER BY 1 DESC, 2 DESC LIMIT ` + strconv.Itoa(q.Limit)
	}
	return sql, args
}

// stateOfEnded is null for a delivery that was sent again and is still open.
const stateOfEnded = `SELECT CASE WHEN` + endedAlone + ` THEN q.status END AS state`

// DeliveryCounts counts the deliveries that a query selects, by status, whatever the query's own status is. Open ones are counted
// among the newest open ones, failed and canceled ones among the newest that aren't delivered; of a destination, not the newest.
func (s *Store) DeliveryCounts(ctx context.Context, q delivery.Query) (event.Counts, error) {
	q.Status, q.Open, q.Undelivered, q.Ended, q.Before = "", false, false, false, nil
	counts, b := event.Counts{}, &pgx.Batch{}
	b.Queue(postgres.PlanEach)
	count := func(from, columns, condition string, most int, states ...delivery.Status) {
		list := postgres.NewList(`SELECT * FROM ` + from + ` AS q`)
		if condition != "" {
			list.Where(condition)
		}
		of := q
		of.Limit = most + 1
		sql, args := newestOf(list, of, columns, "")
		sql += ` LIMIT ` + strconv.Itoa(of.Limit) // a destination may have many subscriptions
		names := make([]string, len(states))
		for i, state := range states {
			names[i] = string(state)
		}
		postgres.QueueCounts(b, counts, sql, args, int64(most), names...)
	}
	count(`delivery_queue`, `SELECT `+openStatus+` AS state`, ``, event.MaxCounted,
		delivery.Pending, delivery.Processing, delivery.Retrying)
	count(`deliveries`, stateOfEnded, `status <> 'delivered'`, event.MaxCounted, delivery.Failed, delivery.Canceled)
	count(`deliveries`, stateOfEnded, ``, maxDelivered, delivery.Delivered)
	return counts, postgres.Failure("count deliveries", s.db.SendRead(ctx, b))
}

// maxDelivered is how many ended deliveries are read to count the delivered ones. Almost all are, so a higher number is of no
// use.
const maxDelivered = 1_200

// openList selects deliveries in the queue. It is nil if the query is about ended ones.
func openList(q delivery.Query) *postgres.List {
	if q.Ended || !slices.Contains([]delivery.Status{"", delivery.Pending, delivery.Processing, delivery.Retrying}, q.Status) {
		return nil
	}
	list := postgres.NewList(`SELECT * FROM delivery_queue AS q`)
	if q.Status != "" {
		list.Where(openStatus+` = %s`, string(q.Status))
	}
	return list
}

// endedList selects ended deliveries; args are the arguments before its own. It is nil if the query is about open ones.
func endedList(q delivery.Query, args []any) *postgres.List {
	list := &postgres.List{Selection: `SELECT * FROM deliveries AS q`, Args: args}
	switch {
	case q.Open:
		return nil
	case q.Undelivered:
		list.Where(`status <> 'delivered' AND status = 'failed'`)
	case q.Status == delivery.Failed || q.Status == delivery.Canceled:
		list.Where(`status <> 'delivered' AND status = %s`, string(q.Status))
	case q.Status == delivery.Delivered:
		list.Where(`status = 'delivered'`)
	case q.Status != "":
		return nil
	}
	list.Where(endedAlone)
	return list
}

// pageOf returns the statement that reads a page of deliveries, in order.
func pageOf(list *postgres.List, q delivery.Query, columns, joined string) (sql string, args []any) {
	sql, args = newestOf(list, q, columns, joined)
	return sql + ` ORDER BY q.event_id DESC, q.subscription_id DESC LIMIT ` + strconv.Itoa(q.Limit), args
}

// newestOf returns the statement that reads the newest deliveries of one subscription, of every subscription of a destination, or
// of all, each in index order: q.Limit, of every subscription.
func newestOf(list *postgres.List, q delivery.Query, columns, joined string) (sql string, args []any) {
	if q.EventID != "" {
		list.Where(`event_id = %s::uuid`, postgres.Clean(q.EventID))
	}
	if !q.Since.IsZero() {
		list.Where(`event_id >= %s::uuid`, event.FirstIDAt(q.Since))
	}
	if !q.Until.IsZero() {
		list.Where(`event_id < %s::uuid`, event.FirstIDAt(q.Until))
	}
	if q.Before != nil {
		before := postgres.Clean(q.Before.EventID)
		list.Where(`event_id <= %s::uuid`, before) // also for an index that begins with the subscription
		list.Where(`(event_id, subscription_id) < (%s::uuid, %s::bigint)`, before, q.Before.SubscriptionID)
	}
	from := ` FROM (`
	switch {
	case q.SubscriptionID != 0:
		list.Where(`subscription_id = %s`, q.SubscriptionID)
		if q.DestinationID != 0 {
			list.Where(`destination_id = %s`, q.DestinationID)
		}
	case q.DestinationID != 0:
		list.Where(`destination_id = %s AND subscription_id = each.id`, q.DestinationID)
		from = ` FROM subscriptions AS each CROSS JOIN LATERAL (`
	}
	page, args := list.Newest(`event_id DESC, subscription_id DESC`, q.Limit)
	sql = columns + from + page + `) AS q` + joined
	if q.SubscriptionID == 0 && q.DestinationID != 0 {
		args = append(args, q.DestinationID)
		sql += ` WHERE each.destination_id = $` + strconv.Itoa(len(args))
	}
	return sql, args
}

func scanDelivery(row pgx.CollectableRow) (d delivery.Delivery, err error) {
	err = row.Scan(&d.EventID, &d.SubscriptionID, &d.Subscription, &d.DestinationID, &d.Destination, &d.Provider, &d.Type, &d.Status,
		&d.Code, &d.Attempts, &d.Generation, &d.OrderKey, &d.Waits, &d.QueuedAt, &d.DueAt, &d.DoneAt, &d.MS, &d.Answer, &d.Error)
	return d, err
}

func scanAttempt(row pgx.CollectableRow) (a delivery.Attempt, err error) {
	err = row.Scan(&a.EventID, &a.SubscriptionID, &a.Subscription, &a.At, &a.Generation, &a.OK, &a.Code, &a.Error, &a.MS, &a.Answer)
	return a, err
}
