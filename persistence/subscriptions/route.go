package subscriptions

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"holdfast/delivery"
	"holdfast/event"
	"holdfast/persistence/outbox"
	"holdfast/persistence/postgres"
)

const (
	// queueDeliveries ignores existing rows: an event has no deliveries before it is first processed, but a duplicate must not fail
	// it.
	queueDeliveries = `
INSERT INTO delivery_queue (event_id, subscription_id, destination_id, own_id)
SELECT *, true FROM unnest($1::uuid[], $2::bigint[], $3::bigint[]) ON CONFLICT DO NOTHING`

	// queueOrdered leaves the order of the deliveries to the sorter: package outbox.
	queueOrdered = `
INSERT INTO delivery_queue (event_id, subscription_id, destination_id, own_id, ` + outbox.OrderColumns + `)
SELECT event_id, subscription_id, destination_id, true, ` + outbox.OrderOfHit + `
  FROM unnest($1::uuid[], $2::bigint[], $3::bigint[], $4::text[])
       WITH ORDINALITY AS hit (event_id, subscription_id, destination_id, order_key, n)
    ON CONFLICT DO NOTHING`

	queueFanOut = `INSERT INTO delivery_fanouts (event_id, subscription_ids) VALUES ($1, $2) ON CONFLICT DO NOTHING`

	// failDeliveries ends deliveries before any attempt. The row of their event exists by then.
	failDeliveries = `
WITH failed AS (
     INSERT INTO deliveries (event_id, subscription_id, destination_id, status, code, attempts, generation, ms, queued_at)
     SELECT event_id, subscription_id, destination_id, 'failed', code, 0, 0, 0, clock_timestamp()
       FROM unnest($1::uuid[], $2::bigint[], $3::bigint[], $4::text[]) AS hit (event_id, subscription_id, destination_id, code)
         ON CONFLICT DO NOTHING
  RETURNING event_id, subscription_id, code
)
INSERT INTO dead_letters (
       event_id, subscription_id, provider, source, key, type, receipt, raw_body, step, error_class, error_code, error_message,
       attempts, first_failed_at, workflow_id, last_failed_at, run_id)
SELECT e.id, f.subscription_id, e.provider, e.source, e.key, e.type, e.receipt, '', $5, 'failed', f.code,
       'the ' || CASE f.code WHEN '` + delivery.CodeOrderByError + `' THEN 'order_by' ELSE 'filter' END
       || ' of the subscription could not be evaluated', 0, t.at, e.workflow_id, t.at, ''
  FROM failed AS f CROSS JOIN LATERAL (SELECT * FROM events WHERE id = f.event_id OFFSET 0) AS e
 CROSS JOIN (SELECT clock_timestamp() AS at) AS t
    ON CONFLICT DO NOTHING`

	hasUnfinished = `
SELECT EXISTS (SELECT FROM delivery_fanouts), EXISTS (SELECT FROM delivery_unmatched),
       EXISTS (SELECT FROM delivery_order_freed) OR EXISTS (SELECT FROM delivery_queue WHERE order_state = 'new')`

	// fanOut writes a page for the event that has waited longest and that no other process is working on. Deleted subscriptions get
	// nothing, nor do those with a delivery that has ended: a resend may have been faster.
	fanOut = `
WITH taken AS MATERIALIZED (
     SELECT event_id, subscription_ids FROM delivery_fanouts ORDER BY event_id LIMIT 1 FOR UPDATE SKIP LOCKED
), queued AS (
     INSERT INTO delivery_queue (event_id, subscription_id, destination_id, own_id)
     SELECT t.event_id, s.id, s.destination_id, true
       FROM taken AS t CROSS JOIN unnest(t.subscription_ids[:$1]) AS hit (id)
       JOIN subscriptions AS s ON s.id = hit.id AND s.deleted_at IS NULL
      WHERE NOT EXISTS (SELECT FROM deliveries WHERE event_id = t.event_id AND subscription_id = hit.id OFFSET 0)
         ON CONFLICT DO NOTHING
  RETURNING destination_id
), rest AS (
     UPDATE delivery_fanouts AS f SET subscription_ids = t.subscription_ids[$1 + 1:]
       FROM taken AS t
      WHERE f.event_id = (SELECT event_id FROM taken) AND cardinality(t.subscription_ids) > $1
), done AS (
     DELETE FROM delivery_fanouts AS f USING taken AS t
      WHERE f.event_id = (SELECT event_id FROM taken) AND cardinality(t.subscription_ids) <= $1
)
SELECT (SELECT count(*) FROM taken) > 0, coalesce((SELECT array_agg(DISTINCT destination_id) FROM queued), '{}')`
)

const (
	// maxOfEvent is how many deliveries of one event are written in its own transaction, maxOfGroup how many of all events in one
	// transaction. The others are fanned out, maxOfPage at a time.
	maxOfEvent, maxOfGroup, maxOfPage = 300, 10_000, 1000
)

// Event is an event that is about to be processed for the first time.
type Event struct {
	Receipt    event.Receipt
	Type       string
	OccurredAt time.Time
	Body       []byte
}

// Routed lists what an event matches as of a version. The zero value matches nothing, as of the version before any subscription.
type Routed struct {
	version int64
	hits    []delivery.Hit
	// unmatched is a multirange of the subscriptions whose filters are left to FinishMatching; "" if there are none.
	unmatched string
}

// unrouted is the value of an event that has not been matched yet.
var unrouted = Routed{version: -1}

// IsOf reports whether the version is the same.
func (r Routed) IsOf(version int64) bool { return r.version == version }

// IsEmpty reports whether the event matches nothing, and nothing is left to match.
func (r Routed) IsEmpty() bool { return len(r.hits) == 0 && r.unmatched == "" }

// EnsureLoaded fills the cache of destinations and subscriptions, unless it is filled. If that fails, each transaction that needs
// them reads them.
func (s *Store) EnsureLoaded(ctx context.Context) {
	if !s.cache.isRead() {
		_ = s.refreshTogether(ctx)
	}
}

// Route matches an event against the cache, without a query. It evaluates filters until isSpent. The only error is ctx's.
func (s *Store) Route(ctx context.Context, e Event, isSpent func() bool) (Routed, error) {
	if !s.cache.isRead() {
		return unrouted, nil
	}
	version := s.cache.at() // the match may be newer than the version, never older
	m := delivery.Message{Receipt: e.Receipt, Type: e.Type, OccurredAt: e.OccurredAt, Body: e.Body}
	hits, unmatched, err := s.cache.router.MatchWithin(ctx, m, nil, isSpent)
	if err != nil {
		return unrouted, err
	}
	routed := Routed{version: version, hits: hits}
	if len(unmatched) > 0 {
		routed.unmatched = rangesOf(unmatched)
	}
	return routed, nil
}

// RouteWithoutBody is Route for an event whose body isn't available. If the body may be needed, the event stays unrouted.
func (s *Store) RouteWithoutBody(ctx context.Context, e Event, isSpent func() bool) (Routed, error) {
	routed, err := s.Route(ctx, e, isSpent)
	if err == nil && s.Reads(e) {
		return unrouted, nil
	}
	return routed, err
}

// Reads reports whether the body of an event may be needed to route it.
func (s *Store) Reads(e Event) bool { return s.cache.router.Reads(e.Receipt.Provider, e.Type) }

// Follow updates the cache to a version that the transaction has read after its events were routed.
func (s *Store) Follow(ctx context.Context, t *postgres.Transaction, version int64, before []Routed) error {
	seen := s.cache.at()
	isBehind := slices.ContainsFunc(before, func(r Routed) bool { return r.version > version }) // the version has gone back
	if s.cache.isRead() && version <= seen && !isBehind {
		return nil // another goroutine has updated it
	}
	return s.follow(ctx, t.Send, seen)
}

// split separates the deliveries to queue without and with an order from those that have failed already.
func (r Routed) split() (wanted, ordered, broken []delivery.Hit) {
	isPlain := func(h delivery.Hit) bool { return !h.Failed && !h.OrderFailed && h.OrderKey == "" }
	if !slices.ContainsFunc(r.hits, func(h delivery.Hit) bool { return !isPlain(h) }) {
		return r.hits, nil, nil
	}
	for _, h := range r.hits {
		switch {
		case isPlain(h):
			wanted = append(wanted, h)
		case h.OrderKey != "":
			ordered = append(ordered, h)
		default:
			broken = append(broken, h)
		}
	}
	return wanted, ordered, broken
}

type pairs struct {
	events                      []string
	subscriptions, destinations []int64
	// keys are the order keys, codes why a delivery has failed.
	keys, codes []string
}

func (p *pairs) add(eventID string, hits []delivery.Hit) {
	for _, h := range hits {
		p.events = append(p.events, eventID)
		p.subscriptions, p.destinations = append(p.subscriptions, h.SubscriptionID), append(p.destinations, h.DestinationID)
		p.keys = append(p.keys, outbox.StoredOrderKey(h.SubscriptionID, h.OrderKey))
		code := delivery.CodeFilterError
		if h.OrderFailed {
			code = delivery.CodeOrderByError
		}
		p.codes = append(p.codes, code)
	}
}

// FinishRouting does a page of each of FanOut and FinishMatching, where there is work, and reports whether there may be more. If
// another process has left ordered deliveries to sort, it notifies the sorter of this one.
func (s *Store) FinishRouting(ctx context.Context) (more bool, err error) {
	var fansOut, matches, moreMatches, sorts bool
	if err := s.db.QueryRow(ctx, hasUnfinished).Scan(&fansOut, &matches, &sorts); err != nil {
		return false, postgres.Failure("look for fan-outs", err)
	}
	if sorts {
		s.outbox.SignalSort()
	}
	if fansOut {
		more, err = s.FanOut(ctx)
	}
	if matches { // an event whose fan-out fails must not keep others from being matched
		var failed error
		moreMatches, failed = s.FinishMatching(ctx)
		err = errors.Join(err, failed)
	}
	return more || moreMatches, err
}

// FanOut writes a page of the deliveries of an event that matches more subscriptions than its own transaction writes, and reports
// whether there may be more to do. It is safe to run in several processes at once.
func (s *Store) FanOut(ctx context.Context) (more bool, err error) {
	var destinations []int64
	b := &pgx.Batch{}
	b.Queue(`SELECT ` + postgres.SettingsOfPlans)
	b.Queue(fanOut, maxOfPage).QueryRow(func(row pgx.Row) error { return row.Scan(&more, &destinations) })
	if err := s.db.SendOnly(ctx, b); err != nil {
		return false, postgres.Failure("fan out", err)
	}
	s.outbox.MadeDue(destinations...)
	return more, nil
}
