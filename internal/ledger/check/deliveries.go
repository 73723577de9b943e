package check

import (
	"context"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"

	"holdfast/delivery"
	"holdfast/internal/ledger"
	"holdfast/persistence/postgres"
)

// deliveryInvariants are the queries that find violations of the delivery invariants. They return
// deliveries, as event and subscription, or names of destinations.
var deliveryInvariants = []struct {
	name  ledger.Invariant
	query string
}{
	{ledger.DeliveryTwoEnds, `
SELECT q.event_id || ' to ' || q.subscription_id
  FROM delivery_queue AS q JOIN deliveries AS d USING (event_id, subscription_id)
 WHERE d.generation >= q.generation
 UNION
SELECT l.event_id || ' to ' || l.subscription_id
  FROM dead_letters AS l JOIN deliveries AS d USING (event_id, subscription_id)
 WHERE l.state IN ('open', 'replaying', 'exhausted') AND d.status IN ('delivered', 'canceled')
   AND NOT EXISTS (SELECT FROM delivery_queue AS q
                    WHERE q.event_id = l.event_id AND q.subscription_id = l.subscription_id)`},

	// Expired deliveries have no dead letter.
	{ledger.DeliveryUnburied, `
SELECT event_id || ' to ' || subscription_id FROM deliveries AS d
 WHERE status = 'failed' AND code <> 'expired'
   AND NOT EXISTS (SELECT FROM dead_letters AS l
                    WHERE l.event_id = d.event_id AND l.subscription_id = d.subscription_id)`},

	{ledger.DeliveryUnasked, `
SELECT d.event_id || ' to ' || d.subscription_id FROM deliveries AS d JOIN events AS e ON e.id = d.event_id
 WHERE NOT (e.status = 'processed' AND e.outcome = 'processed')`},

	{ledger.DeliveryCrowd, `
SELECT d.name FROM destinations AS d
 WHERE coalesce(nullif((d.settings->>'in_flight')::integer, 0), DEFAULT_IN_FLIGHT)
     < (SELECT count(*) FROM delivery_queue AS q
         WHERE q.destination_id = d.id AND q.lease IS NOT NULL AND q.due_at > statement_timestamp())`},

	{ledger.DeliveryAsleep, `
SELECT q.event_id || ' to ' || q.subscription_id
  FROM delivery_queue AS q LEFT JOIN destination_states AS s USING (destination_id)
 WHERE q.due_at < statement_timestamp() - interval '1 min'
   AND (s.destination_id IS NULL
        OR (s.state = 'ready' AND s.held <> 'open'
            AND (s.next_at > statement_timestamp() + interval '1 min' OR s.low_at > q.due_at)))`},
}

const (
	// lostDeliveries are events without a delivery for a subscription that matches all events of some providers, and existed in
	// time.
	lostDeliveries = `
SELECT e.id || ' to ' || s.id
  FROM subscriptions AS s JOIN events AS e ON e.processed_at > s.changed_at AND e.outcome = 'processed'
 WHERE s.id = $2 AND s.active AND (cardinality($3::text[]) = 0 OR e.provider = ANY ($3::text[]))
   AND NOT EXISTS (SELECT FROM delivery_queue AS q WHERE q.event_id = e.id AND q.subscription_id = s.id)
   AND NOT EXISTS (SELECT FROM deliveries AS d WHERE d.event_id = e.id AND d.subscription_id = s.id)
   AND NOT EXISTS (SELECT FROM delivery_fanouts AS f WHERE f.event_id = e.id AND s.id = ANY (f.subscription_ids))
   AND NOT EXISTS (SELECT FROM delivery_unmatched AS u WHERE u.event_id = e.id AND u.subscriptions @> s.id)`

	unseenDeliveries = `
SELECT d.event_id || ' to ' || d.subscription_id
  FROM deliveries AS d LEFT JOIN unnest($3::uuid[]) AS seen (event_id) USING (event_id)
 WHERE d.subscription_id = $2 AND d.status = 'delivered' AND seen.event_id IS NULL`
)

// Endpoint counts the requests that a destination has received.
type Endpoint struct {
	SubscriptionID int64
	// All means that its subscription matches all events of these providers, or of all providers if there is none.
	All       bool
	Providers []string
	// Seen lists the events that it has accepted, in any order, with duplicates.
	Seen []string
}

// Deliveries checks the stored deliveries against what destinations have received: every delivered event was seen, and every
// matching event has a delivery. It reads everything, and may run while deliveries are in flight.
func Deliveries(ctx context.Context, cfg postgres.Config, endpoints ...Endpoint) (all []ledger.Finding, err error) {
	db, err := postgres.Open(ctx, cfg)
	if err != nil {
		return nil, err
	}
	defer db.Close()
	err = pgx.BeginTxFunc(ctx, db, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}, func(tx pgx.Tx) error {
		all, err = checkDeliveries(ctx, tx, endpoints)
		return err
	})
	return all, postgres.Failure("check deliveries", err)
}

func checkDeliveries(ctx context.Context, tx pgx.Tx, endpoints []Endpoint) (all []ledger.Finding, err error) {
	inFlight := strings.NewReplacer("DEFAULT_IN_FLIGHT", strconv.Itoa(delivery.DefaultInFlight))
	for _, i := range deliveryInvariants {
		f, err := findBroken(ctx, tx, i.name, inFlight.Replace(i.query))
		if err != nil {
			return nil, err
		}
		all = append(all, f)
	}
	for _, r := range endpoints {
		unseen, err := findBroken(ctx, tx, ledger.DeliveryUnseen, unseenDeliveries, r.SubscriptionID, r.Seen)
		if err != nil {
			return nil, err
		}
		all = append(all, unseen)
		if !r.All {
			continue
		}
		providers := append([]string{}, r.Providers...)
		lost, err := findBroken(ctx, tx, ledger.DeliveryLost, lostDeliveries, r.SubscriptionID, providers)
		if err != nil {
			return nil, err
		}
		all = append(all, lost)
	}
	return all, nil
}

func findBroken(ctx context.Context, tx pgx.Tx, name ledger.Invariant, query string, args ...any) (ledger.Finding, error) {
	f := ledger.Finding{Invariant: name}
	err := tx.QueryRow(ctx, strings.Replace(countBroken, "QUERY", query, 1), append([]any{maxExamples}, args...)...).
		Scan(&f.Count, &f.Examples)
	return f, err
}
