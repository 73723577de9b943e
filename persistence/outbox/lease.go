package outbox

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"holdfast/delivery"
	"holdfast/persistence/postgres"
)

const (
	// leaseMargin is added to the attempt's timeout: the job waits for its slot, and its outcome for the rest of the batch.
	leaseMargin = 15 * time.Second
	// maxLeases is how many leases may end without an outcome before the delivery becomes a dead letter.
	maxLeases = 5
	// A lease checks at most maxDestinations. It checks at least fewDestinations (but not more than its limit), even if fewer seem
	// enough to fill it.
	maxDestinations, fewDestinations = 200, 8
	// maxRampDoublings caps the doublings of the slow start after a breaker closes.
	maxRampDoublings = 20
	// minLeaseInterval and maxLeaseInterval bound the time until the next lease: locked rows are skipped, and other processes don't
	// announce what they have made due.
	minLeaseInterval, maxLeaseInterval = 20 * time.Millisecond, time.Second
)

// lockDue locks the destinations that were due first. It reads them in the order of the index destination_states_due. Paused and
// disabled ones aren't in the index, and the next_at of open or blocked ones is in the future, so they cost nothing however many
// deliveries they have. The statement skips the destinations in $2. If $3 isn't null, it locks only those in $3.
const lockDue = `
SELECT s.destination_id, statement_timestamp(), s.breaker, s.epoch, s.probes_ok, s.closed_at, s.busy_answers,
       nullif(s.tokens_at, '-infinity'), s.lead, coalesce(d.version, 0), d.id IS NOT NULL AND d.deleted_at IS NULL
  FROM destination_states AS s LEFT JOIN destinations AS d ON d.id = s.destination_id
 WHERE s.state = 'ready' AND s.next_at <= statement_timestamp()
   AND (s.breaker <> 'open' OR s.open_until <= statement_timestamp()) AND s.destination_id <> ALL ($2::bigint[])
   AND ($3::bigint[] IS NULL OR s.destination_id = ANY ($3::bigint[]))
 ORDER BY s.next_at LIMIT $1
   FOR UPDATE OF s SKIP LOCKED`

// inProgress counts the leases of destination l.id that have not ended at $2; the ones of lease $1 are this transaction's.
const inProgress = `
       SELECT count(*) AS live, count(*) FILTER (WHERE q.epoch = l.epoch) AS of_epoch,
              count(*) FILTER (WHERE q.lease = $1::uuid) AS leased, min(q.due_at) AS ends
         FROM delivery_queue AS q
        WHERE q.destination_id = l.id AND q.lease IS NOT NULL AND q.due_at > $2::timestamptz`

// leasable lists the destinations to lease from, by ID; position is the order in which they are served. probes is null unless the
// breaker limits the attempts.
const leasable = `
       unnest($3::bigint[], $4::integer[], $5::boolean[], $6::bigint[], $7::integer[], $8::integer[], $9::integer[],
              $10::double precision[], $11::timestamptz[], $12::timestamptz[], $13::integer[])
           AS l (id, position, present, epoch, allowed, probes, starts, spacing, start, until, share)`

// leaseDue leases due deliveries in the order of their due times, and skips locked rows. If a failing destination has none due,
// it leases the one that is due next as a probe, once in 30 seconds. It runs after lockDue, as a statement of its own, so that
// its count of the attempts in flight is current.
//
// Picked rows are joined by their ctid. If the queue was empty when PostgreSQL analyzed it, joining by key would read the whole
// queue. A row that changes between the snapshot and its lock has a new ctid, is not found, and is left for the next lease.
const leaseDue = `
WITH room AS MATERIALIZED (
     SELECT l.id, l.position, l.epoch, l.until, s.low_at, s.probe_at,
            least(l.share, l.allowed - u.live, l.probes - u.of_epoch, l.starts)::bigint AS room
       FROM ` + leasable + `
       JOIN destination_states AS s ON s.destination_id = l.id
      CROSS JOIN LATERAL (` + inProgress + `) AS u
      WHERE l.present
), picked AS MATERIALIZED (
     SELECT q.place, r.id, r.epoch, r.until, NULL::timestamptz AS waits_until
       FROM (SELECT * FROM room WHERE room >= 1 ORDER BY position) AS r
      CROSS JOIN LATERAL (
            SELECT ctid AS place FROM delivery_queue AS q
             WHERE q.destination_id = r.id AND q.due_at >= r.low_at AND q.due_at <= $2::timestamptz
             ORDER BY q.due_at LIMIT r.room
               FOR UPDATE SKIP LOCKED) AS q
      LIMIT $14::bigint
), probes AS MATERIALIZED (
     SELECT q.place, r.id, r.epoch, r.until, q.waits_until
       FROM (SELECT * FROM room WHERE room >= 1 AND probe_at <= $2::timestamptz AND id NOT IN (SELECT id FROM picked)) AS r
      CROSS JOIN LATERAL (
            SELECT ctid AS place, due_at AS waits_until FROM delivery_queue AS q
             WHERE q.destination_id = r.id AND q.due_at > $2::timestamptz AND q.due_at < 'infinity' AND q.lease IS NULL
               AND q.attempts > 0
             ORDER BY q.due_at LIMIT 1
               FOR UPDATE SKIP LOCKED) AS q
      LIMIT $14::bigint - (SELECT count(*) FROM picked)
)
UPDATE delivery_queue AS q
   SET lease = $1::uuid, due_at = p.until, epoch = p.epoch, leases = q.leases + 1
  FROM (SELECT * FROM picked UNION ALL SELECT * FROM probes) AS p
 WHERE q.ctid = p.place
RETURNING q.event_id::text, q.subscription_id, q.destination_id, q.due_at, q.epoch, q.attempts, q.leases, q.generation,
       q.queued_at, p.waits_until, q.own_id, q.order_state IS NOT NULL`

// scheduleNext sets when each destination is due next, and records what the lease has used: the start times of its rate
// (tokens_at is the next one), how early they are leased (lead), and the transition of an open breaker, which happens only if
// there was a delivery to probe with. A destination that may have more is due again now, after those that have been due for
// longer. If the lease was full before it reached the destination, or this process had no room for it, its next_at stays. No due
// delivery is older than low_at, except those that a writer has queued and not committed yet; Rearm finds those that are
// committed much later.
const scheduleNext = `
UPDATE destination_states AS s
   SET breaker = CASE WHEN n.transitions THEN 'half_open' ELSE s.breaker END,
       epoch = CASE WHEN n.transitions THEN n.epoch ELSE s.epoch END,
       probes_ok = CASE WHEN n.transitions THEN 0 ELSE s.probes_ok END,
       tokens = 0,
       tokens_at = CASE WHEN n.spacing IS NULL THEN '-infinity' ELSE n.start + make_interval(secs => n.leased * n.spacing) END,
       lead = n.lead,
       probe_at = n.probe_at,
       low_at = greatest(s.low_at, least(n.first, $2::timestamptz) - interval '30 s'),
       held = n.held,
       next_at = CASE n.held
                 WHEN 'gone' THEN 'infinity'
                 WHEN 'full' THEN least(n.ends, CASE WHEN n.grows THEN $2::timestamptz + interval '1 s' END)
                 WHEN 'rate' THEN n.start + make_interval(secs => n.leased * n.spacing - 0.05 - n.lead)
                 ELSE (CASE WHEN n.first > $2::timestamptz THEN least(n.first, n.probe_at)
                           WHEN n.first IS NULL THEN 'infinity'
                           WHEN n.unserved THEN s.next_at
                           ELSE $2::timestamptz END) END
  FROM (SELECT l.*, u.*, f.first, u.leased > 0 AND was.breaker = 'open' AS transitions,
               was.closed_at > $2::timestamptz - interval '20 s' AS grows,
               greatest($15::double precision, CASE WHEN u.leased > 0 THEN was.lead - was.lead / 64 ELSE was.lead END) AS lead,
               CASE WHEN was.probe_at <= $2::timestamptz THEN $2::timestamptz + interval '30 s' ELSE was.probe_at END AS probe_at,
               u.leased = 0 AND (l.share < 1 OR sum(u.leased) OVER () >= $14::bigint) AS unserved,
               CASE WHEN NOT l.present THEN 'gone'
                    WHEN f.first IS NULL OR f.first > $2::timestamptz THEN ''
                    WHEN u.live >= l.allowed OR u.of_epoch >= l.probes THEN 'full'
                    WHEN u.leased >= l.starts THEN 'rate'
                    ELSE '' END AS held
          FROM ` + leasable + `
          JOIN destination_states AS was ON was.destination_id = l.id
         CROSS JOIN LATERAL (` + inProgress + `) AS u
          LEFT JOIN LATERAL (
               SELECT due_at AS first FROM delivery_queue AS q
                WHERE q.destination_id = l.id AND q.due_at >= was.low_at ORDER BY q.due_at LIMIT 1) AS f ON true) AS n
 WHERE s.destination_id = n.id`

// nextDue returns when the next destination is due. It skips those in $1, which are at this process's limit: the process leases
// again once an attempt ends.
const nextDue = `
SELECT nullif(next_at, 'infinity'), statement_timestamp() FROM destination_states
 WHERE state = 'ready' AND destination_id <> ALL ($1::bigint[])
   AND ($2::bigint[] IS NULL OR destination_id = ANY ($2::bigint[]))
 ORDER BY next_at LIMIT 1`

// recheck runs after the commit of a lease. Until the lease commits, other transactions see the destination's old row: to a
// writer it is already due, and to settle it isn't full, so neither makes it due. recheck does.
const recheck = `
WITH missed AS MATERIALIZED (
     SELECT s.destination_id
       FROM unnest($1::bigint[], $2::integer[]) AS l (id, allowed)
       JOIN destination_states AS s ON s.destination_id = l.id
      WHERE s.state = 'ready' AND s.next_at > statement_timestamp()
        AND CASE s.held
            WHEN '' THEN EXISTS (SELECT FROM delivery_queue AS q
                                  WHERE q.destination_id = s.destination_id AND q.due_at >= s.low_at
                                    AND q.due_at <= statement_timestamp())
            WHEN 'full' THEN l.allowed > (SELECT count(*) FROM delivery_queue AS q
                                           WHERE q.destination_id = s.destination_id AND q.lease IS NOT NULL
                                             AND q.due_at > statement_timestamp())
            ELSE false END
      ORDER BY s.destination_id FOR UPDATE OF s
)
UPDATE destination_states AS s SET next_at = statement_timestamp(), held = ''
  FROM missed WHERE s.destination_id = missed.destination_id`

// Lease claims due deliveries within the limits, in each destination in the order of their due times. It skips destinations that
// are paused or disabled, whose breaker is open, that asked for a pause, or that have reached their rate limit or max in flight.
// next is when to lease again without a wake-up, at most a second from now. All times are of this machine's clock.
//
// A delivery that was leased too often without an outcome becomes a dead letter here: its attempts seem to crash the process.
func (s *Store) Lease(ctx context.Context, want delivery.LeaseRequest) (jobs []delivery.Job, next time.Time, err error) {
	s.releaseLost(ctx)
	want.Limit = max(want.Limit, 1)
	round := leaseRound{
		want: want, began: time.Now(), lease: uuid.NewString(), lead: s.lead.get(), maxDestinations: s.depth.destinations(want.Limit),
	}
	jobs, err = s.lease(ctx, &round)
	if err != nil {
		return nil, time.Now().Add(maxLeaseInterval), postgres.Failure("lease deliveries", err)
	}
	s.depth.learn(jobs)
	canCheckMore := len(round.due) == round.maxDestinations && round.maxDestinations < min(want.Limit, maxDestinations)
	round.isShort = canCheckMore && len(jobs) < want.Limit
	jobs, err = s.deadLetterLost(ctx, jobs)
	return jobs, round.next(), postgres.Failure("dead-letter lost deliveries", err)
}

func (s *Store) lease(ctx context.Context, l *leaseRound) (jobs []delivery.Job, err error) {
	armed := s.due.take()
	defer func() {
		if err != nil {
			s.due.add(armed)
		}
	}()
	if s.isIdle.Swap(false) && len(armed) == 0 {
		if err := s.readNext(ctx, l); err != nil || !l.isNextDue(0) {
			return nil, err
		}
	}
	b := &pgx.Batch{}
	b.Queue(`SELECT ` + postgres.SettingsOfPlans)
	if len(armed) > 0 {
		b.Queue(arm, armed)
	}
	b.Queue(lockDue, l.maxDestinations, l.without(), l.want.Only).Query(l.collect)
	b.Queue(nextDue, l.without(), l.want.Only).Query(l.collectNext)
	tx, err := s.db.BeginAsync(ctx, b)
	if err != nil {
		return nil, err
	}
	defer tx.Rollback(ctx)
	l.answered = time.Now()
	last := &pgx.Batch{}
	if len(l.due) > 0 {
		if err := s.learnLimits(ctx, tx, l.due); err != nil {
			return nil, err
		}
		args := l.args()
		last.Queue(leaseDue, args...).Query(func(rows pgx.Rows) (err error) {
			jobs, err = pgx.CollectRows(rows, l.scanJob)
			l.schedule(jobs)
			return err
		})
		last.Queue(scheduleNext, append(args, l.lead.Seconds())...)
		last.Queue(nextDue, l.without(), l.want.Only).Query(l.collectNext)
	}
	// The jobs are leased, even if recheck fails; Rearm then finds what was missed.
	then := &pgx.Batch{}
	if len(l.due) > 0 {
		then.Queue(`SELECT ` + postgres.SettingsOfPlans)
		then.Queue(recheck, l.ids(), l.recheckBelow())
	}
	if err := tx.CommitThen(ctx, last, then); err != nil {
		s.lost.add(l.lost())
		return nil, err
	}
	s.isIdle.Store(!l.isNextDue(maxLeaseInterval))
	return jobs, nil
}

// readNext reads when something is due. It is all that a dispatcher without work does: other processes don't announce what they
// have made due.
func (s *Store) readNext(ctx context.Context, l *leaseRound) error {
	if err := l.collectNext(s.db.Rows(ctx, nextDue, l.without(), l.want.Only)); err != nil {
		return err
	}
	s.isIdle.Store(!l.isNextDue(maxLeaseInterval))
	return nil
}

func (s *Store) learnLimits(ctx context.Context, t *postgres.Transaction, due []dueDestination) error {
	versions := make(map[int64]int64, len(due))
	for _, d := range due {
		if d.present {
			versions[d.id] = d.version
		}
	}
	all, err := s.limitsFor(ctx, t, versions)
	for i := range due {
		due[i].limits = all[due[i].id]
	}
	return err
}

// deadLetterLost settles deliveries that were leased too often, and returns the other jobs.
func (s *Store) deadLetterLost(ctx context.Context, jobs []delivery.Job) ([]delivery.Job, error) {
	var lost []delivery.Outcome
	jobs = slices.DeleteFunc(jobs, func(j delivery.Job) bool {
		if j.Tries < maxLeases {
			return false
		}
		lost = append(lost, delivery.Outcome{Job: j, Dead: true, Result: delivery.Result{
			Kind: delivery.Final, Code: delivery.CodeLostLeases, At: time.Now(),
			Error: fmt.Sprintf("leased %d times without an outcome: "+
				"the process seems to crash, or to be stopped, during the attempt", j.Tries),
		}})
		return true
	})
	if len(lost) == 0 {
		return jobs, nil
	}
	if _, err := s.Settle(ctx, lost); err != nil && len(jobs) == 0 {
		return nil, err
	}
	return jobs, nil // unsettled ones are leased again
}
