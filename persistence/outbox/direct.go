package outbox

import (
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"holdfast/delivery"
)

// HeadVersion is an SQL expression for the version of the last committed change of a destination or a subscription. A
// transaction that has read it has seen all changes up to it, since they commit one after the other. Its upper bits are the
// server's timeline: a failover may undo changes, and reuse their versions.
const HeadVersion = `(SELECT version + (server_timeline() << 40) FROM subscriptions_head WHERE one)`

// lockFit locks a destination if a new delivery may be attempted at once: it is ready, healthy and past its slow start, nothing
// is due before it, and its settings are those of version $2. It never waits.
const lockFit = `
SELECT FROM destination_states AS s
 WHERE s.destination_id = $1 AND s.state = 'ready' AND s.held = '' AND NOT ` + unhealthy + `
   AND coalesce(s.closed_at, '-infinity') <= statement_timestamp() - interval '20 s'
   AND NOT EXISTS (
       SELECT FROM delivery_queue AS q
        WHERE q.destination_id = $1 AND q.due_at >= s.low_at AND q.due_at <= statement_timestamp())
   AND ` + HeadVersion + ` = $2
   FOR UPDATE OF s SKIP LOCKED`

// insertDirect queues a delivery. It is leased if lockFit has locked its destination for this transaction, which is then its
// xmax, and fewer attempts than $6 are in flight; otherwise it is due. It is a statement of its own, so that its count is newer
// than the lock, which every other lease waits for or skips.
const insertDirect = `
WITH fit AS (
     SELECT s.epoch, statement_timestamp() + make_interval(secs => $5) AS until
       FROM destination_states AS s
      WHERE s.destination_id = $3::bigint AND s.xmax = pg_current_xact_id()::xid
        AND $6::bigint > (
            SELECT count(*) FROM delivery_queue AS q
             WHERE q.destination_id = $3::bigint AND q.lease IS NOT NULL AND q.due_at > statement_timestamp())
)
INSERT INTO delivery_queue (event_id, subscription_id, destination_id, own_id, lease, leases, epoch, due_at)
SELECT $1::uuid, $2::bigint, $3::bigint, true, CASE WHEN fit.until IS NOT NULL THEN $4::uuid END,
       (fit.until IS NOT NULL)::integer, coalesce(fit.epoch, 0), coalesce(fit.until, clock_timestamp())
  FROM (VALUES (1)) AS one LEFT JOIN fit ON true
    ON CONFLICT DO NOTHING
RETURNING lease IS NOT NULL, epoch, queued_at`

// Direct is a delivery that a transaction queues, and leases if it may be attempted at once. IsLeased is known when the
// transaction has committed.
type Direct struct {
	delivery.Job

	IsLeased bool
}

// QueueDirect adds a delivery to a transaction, which must commit next, since it may lock the destination. The delivery is leased
// only if no destination has changed since version, and to has no rate.
func QueueDirect(b *pgx.Batch, k delivery.Key, to delivery.Destination, version int64) *Direct {
	l := limitsFrom(to)
	lasts := l.timeout + leaseMargin
	d := &Direct{Job: delivery.Job{
		Key: k, DestinationID: to.ID, Lease: uuid.NewString(), LeasedUntil: time.Now().Add(lasts), HasOwnID: true,
	}}
	b.Queue(lockFit, to.ID, version)
	b.Queue(insertDirect, k.EventID, k.SubscriptionID, to.ID, d.Lease, lasts.Seconds(), l.inFlight).Query(func(rows pgx.Rows) error {
		_, err := pgx.ForEachRow(rows, []any{&d.IsLeased, &d.Epoch, &d.QueuedAt}, func() error { return nil })
		return err
	})
	return d
}

// LostDirect releases the lease, if there is one, of a transaction whose outcome is unknown.
func (s *Store) LostDirect(d *Direct) {
	s.lost.add(lostLease{id: d.Lease, destinations: []int64{d.DestinationID}, until: d.LeasedUntil})
}
