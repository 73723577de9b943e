package outbox

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"holdfast/delivery"
	"holdfast/event"
	"holdfast/persistence/changes"
	"holdfast/persistence/postgres"
)

// Limits of an outcome's texts, in bytes; longer texts are cut.
const (
	maxCode  = 100
	maxError = 500
)

// settle records the outcomes of jobs. A failure counts unless the delivery has been leased again, released or ended since. A
// success always counts, even if the delivery has failed or was canceled in the meantime, because the destination has received
// it. A delivery that was sent again since is a new generation, which outcomes of older ones don't change. If the event was
// expunged, its outcomes are ignored.
//
// Status is null for deliveries that are retried. leaseDue explains why rows are joined by their ctid. lockSettled has locked
// them before, so it is the ctid of their newest version: a row that isn't found here would be sent a second time.
const settle = `
WITH o AS MATERIALIZED (
     SELECT o.*, q.place
       FROM unnest($1::uuid[], $2::bigint[], $3::uuid[], $4::integer[], $5::text[], $6::integer[], $7::text[], $8::text[],
                   $9::integer[], $10::bytea[], $11::timestamptz[], $12::timestamptz[], $13::text[])
              AS o (event_id, subscription_id, lease, generation, status, counted, code, error, ms, answer, at, due_at, class)
       LEFT JOIN LATERAL (
            SELECT ctid AS place FROM delivery_queue AS q
             WHERE q.event_id = o.event_id AND q.subscription_id = o.subscription_id OFFSET 0) AS q ON true
), ended AS (
     DELETE FROM delivery_queue AS q USING o
      WHERE q.ctid = o.place AND q.generation = o.generation AND o.status IS NOT NULL
        AND (q.lease = o.lease OR o.status = 'delivered')
  RETURNING o.*, q.destination_id, q.attempts AS before, q.queued_at
), again AS (
     UPDATE delivery_queue AS q
        SET lease = NULL, leases = 0, due_at = o.due_at, attempts = q.attempts + o.counted, last_code = o.code
       FROM o
      WHERE q.ctid = o.place AND q.lease = o.lease AND o.status IS NULL
  RETURNING o.*
), late AS (
     UPDATE deliveries AS d
        SET status = 'delivered', code = o.code, attempts = d.attempts + 1, ms = o.ms, answer = o.answer,
            done_at = clock_timestamp()
       FROM o
      WHERE d.event_id = o.event_id AND d.subscription_id = o.subscription_id AND d.generation = o.generation
        AND o.status = 'delivered' AND d.status <> 'delivered' AND o.place IS NULL
        AND EXISTS (SELECT FROM events WHERE id = o.event_id OFFSET 0)
  RETURNING o.*
), ended_rows AS (
     INSERT INTO deliveries AS d
            (event_id, subscription_id, destination_id, status, code, attempts, generation, ms, answer, queued_at)
     SELECT event_id, subscription_id, destination_id, status, code, before + counted, generation, ms, answer, queued_at
       FROM ended
         ON CONFLICT (event_id, subscription_id) DO UPDATE
        SET destination_id = excluded.destination_id, status = excluded.status, code = excluded.code,
            attempts = excluded.attempts, generation = excluded.generation, ms = excluded.ms, answer = excluded.answer,
            queued_at = excluded.queued_at, done_at = excluded.done_at
      WHERE d.generation <= excluded.generation
), tried AS (
     INSERT INTO delivery_attempts (event_id, subscription_id, lease, at, generation, ok, code, error, ms, answer)
     SELECT event_id, subscription_id, lease, at, generation, status IS NOT DISTINCT FROM 'delivered', code, error, ms, answer
       FROM (SELECT event_id, subscription_id, lease, at, generation, status, code, error, ms, answer FROM ended
              WHERE counted > 0 AND NOT (status = 'delivered' AND before = 0 AND generation = 0)
              UNION ALL
             SELECT event_id, subscription_id, lease, at, generation, status, code, error, ms, answer FROM again
              WHERE class <> ''
              UNION ALL
             SELECT event_id, subscription_id, lease, at, generation, status, code, error, ms, answer FROM late) AS reported
         ON CONFLICT DO NOTHING
), dead_lettered AS (
     INSERT INTO dead_letters AS d (
            event_id, subscription_id, provider, source, key, type, receipt, raw_body, step, error_class, error_code,
            error_message, attempts, first_failed_at, last_failed_at, workflow_id, run_id)
     SELECT e.event_id, e.subscription_id, v.provider, v.source, v.key, v.type, v.receipt, '', 'deliver', e.class, e.code,
            e.error, e.before + e.counted, statement_timestamp(), clock_timestamp(), v.workflow_id, ''
       FROM ended AS e
      CROSS JOIN LATERAL (
            SELECT provider, source, key, type, receipt, workflow_id FROM events WHERE id = e.event_id OFFSET 0) AS v
      WHERE e.status = 'failed'
         ON CONFLICT (event_id, subscription_id) WHERE state IN ('open', 'replaying', 'exhausted') DO UPDATE
        SET state = 'open', replaying_since = NULL, replaying_run_id = NULL, next_replay_at = NULL, failures = d.failures + 1,
            error_class = excluded.error_class, error_code = excluded.error_code, error_message = excluded.error_message,
            attempts = excluded.attempts, last_failed_at = excluded.last_failed_at
), rescued AS (
     UPDATE dead_letters
        SET state = 'resolved', replaying_since = NULL, next_replay_at = NULL, resolved_at = clock_timestamp(),
            resolved_run_id = ''
      WHERE id = ANY (ARRAY(
            SELECT d.id
              FROM (SELECT event_id, subscription_id FROM ended WHERE status = 'delivered' AND generation > 0
                     UNION ALL
                    SELECT event_id, subscription_id FROM late) AS r
             CROSS JOIN LATERAL (
                   SELECT id FROM dead_letters AS d
                    WHERE d.event_id = r.event_id AND d.subscription_id = r.subscription_id
                      AND d.state IN ('open', 'replaying', 'exhausted') FOR UPDATE) AS d))
), reported AS (
     SELECT event_id, subscription_id, status AS action, code FROM ended
      UNION ALL
     SELECT event_id, subscription_id, 'retrying', code FROM again WHERE class <> ''
      UNION ALL
     SELECT event_id, subscription_id, status, code FROM late
)` + changes.ReportDeliveries

// lockSettled locks the rows of a batch in key order.
const lockSettled = `
SELECT FROM unnest($1::uuid[], $2::bigint[]) AS o (event_id, subscription_id)
 CROSS JOIN LATERAL (
       SELECT FROM delivery_queue AS q
        WHERE q.event_id = o.event_id AND q.subscription_id = o.subscription_id FOR UPDATE) AS q`

// freeFull runs after the commit of outcomes, and makes destinations due that were at their limit. It reads held without waiting
// for a lease in progress, which checks again after its own commit (recheck).
const freeFull = `
WITH full_ones AS MATERIALIZED (
     SELECT destination_id FROM destination_states
      WHERE destination_id = ANY ($1::bigint[]) AND held = 'full' ORDER BY destination_id FOR UPDATE
)
UPDATE destination_states AS s SET held = '', next_at = statement_timestamp()
  FROM full_ones WHERE s.destination_id = full_ones.destination_id`

// Settle records the outcomes of jobs, in the order in which they ended, and returns the transitions of breakers, and
// destinations that were disabled. If a job's lease has ended and another process has leased it, its outcome counts only if it is
// a success.
//
// A dead outcome with CodeDeleted isn't a failure: the delivery is canceled, without a dead letter.
func (s *Store) Settle(ctx context.Context, outcomes []delivery.Outcome) ([]delivery.Transition, error) {
	if len(outcomes) == 0 {
		return nil, nil
	}
	s.lead.learn(outcomes)
	defer s.signalEnded(outcomes)
	if all, err := s.settleFirst(ctx, outcomes); all || err != nil {
		return nil, postgres.Failure("settle deliveries", err)
	}
	transitions, err := s.settle(ctx, outcomes)
	return transitions, postgres.Failure("settle deliveries", err)
}

// signalEnded lets the deliveries behind ordered ones that have ended follow.
func (s *Store) signalEnded(outcomes []delivery.Outcome) {
	if slices.ContainsFunc(outcomes, func(o delivery.Outcome) bool { return o.IsOrdered && ends(o) }) {
		s.SignalSort()
	}
}

// queueFree adds freeFull. A destination that it misses is due again when the first of its deliveries' leases ends: see
// scheduleNext.
func (s *Store) queueFree(b *pgx.Batch, outcomes []delivery.Outcome) {
	b.Queue(freeFull, destinationsOf(outcomes, anyKind)).Exec(func(tag pgconn.CommandTag) error {
		if tag.RowsAffected() > 0 {
			s.Signal()
		}
		return nil
	})
}

func (s *Store) settle(ctx context.Context, outcomes []delivery.Outcome) ([]delivery.Transition, error) {
	local := time.Now()
	var (
		now    time.Time
		locked []lockedDestination
		b      = &pgx.Batch{}
	)
	b.Queue(`SELECT ` + postgres.SettingsOfPlans)
	b.Queue(`SELECT statement_timestamp()`).QueryRow(func(row pgx.Row) error { return row.Scan(&now) })
	b.Queue(lockChanged, destinationsOf(outcomes, anyKind), destinationsOf(outcomes, mayChangeHealthy)).
		Query(postgres.Collect(&locked, scanLocked))
	tx, err := s.db.Begin(ctx, b)
	if err != nil {
		return nil, err
	}
	defer tx.Rollback(ctx)
	for i := range outcomes {
		outcomes[i] = toDatabaseClock(outcomes[i], local, now)
	}
	transitions, err := s.applyOutcomes(ctx, tx, locked, outcomes, now)
	if err != nil {
		return nil, err
	}
	last, args := &pgx.Batch{}, columnsOf(oneEach(outcomes))
	last.Queue(lockSettled, args[:2]...)
	last.Queue(settle, args...)
	queuePull(last, locked)
	queueChanged(last, locked, transitions)
	then := &pgx.Batch{}
	s.queueFree(then, outcomes)
	return transitions, tx.CommitThen(ctx, last, then)
}

func anyKind(delivery.Outcome) bool { return true }

// mayChangeHealthy reports whether the outcome may change the row of a destination that is fully healthy.
func mayChangeHealthy(s delivery.Outcome) bool {
	return s.Kind != delivery.OK && s.Kind != delivery.Final
}

func destinationsOf(outcomes []delivery.Outcome, which func(delivery.Outcome) bool) []int64 {
	ids := map[int64]struct{}{}
	for _, s := range outcomes {
		if which(s) {
			ids[s.DestinationID] = struct{}{}
		}
	}
	return slices.Sorted(maps.Keys(ids))
}

// ends reports whether no further attempt follows.
func ends(s delivery.Outcome) bool {
	return s.Kind == delivery.OK || (s.Dead && s.Kind != delivery.Gone)
}

// toDatabaseClock converts an outcome's due time to the database's clock. Deliveries of a destination that asked for no more
// events (Gone) become due now: they continue as soon as an operator resumes it.
func toDatabaseClock(s delivery.Outcome, local, now time.Time) delivery.Outcome {
	switch {
	case s.Kind == delivery.Gone:
		s.DueAt = now
	case s.DueAt.IsZero():
		s.DueAt = now.Add(maxLeaseInterval)
	default:
		s.DueAt = now.Add(max(0, s.DueAt.Sub(local))) // nothing below low_at is read
	}
	return s
}

// oneEach keeps one outcome for each delivery, in key order, which is the lock order. If a delivery has two, one of them came
// after its lease had ended: a success wins, otherwise the last one.
func oneEach(outcomes []delivery.Outcome) []delivery.Outcome {
	best := make(map[delivery.Key]delivery.Outcome, len(outcomes))
	for _, s := range outcomes {
		if known, ok := best[s.Key]; !ok || known.Kind != delivery.OK {
			best[s.Key] = s
		}
	}
	return slices.SortedFunc(maps.Values(best), func(a, b delivery.Outcome) int {
		return cmp.Or(cmp.Compare(a.EventID, b.EventID), cmp.Compare(a.SubscriptionID, b.SubscriptionID))
	})
}

// columnsOf returns the arguments of settle.
func columnsOf(all []delivery.Outcome) []any {
	return []any{
		postgres.Column(all, func(s delivery.Outcome) string { return s.EventID }),
		postgres.Column(all, func(s delivery.Outcome) int64 { return s.SubscriptionID }),
		postgres.Column(all, func(s delivery.Outcome) string { return s.Lease }),
		postgres.Column(all, func(s delivery.Outcome) int { return s.Generation }),
		postgres.Column(all, statusOf),
		postgres.Column(all, countedOf),
		postgres.Column(all, codeOf),
		postgres.Column(all, func(s delivery.Outcome) string { return postgres.Clip(postgres.Clean(s.Error), maxError) }),
		postgres.Column(all, msOf),
		answersOf(all),
		postgres.Column(all, func(s delivery.Outcome) time.Time { return s.At }),
		postgres.Column(all, func(s delivery.Outcome) time.Time { return s.DueAt }),
		postgres.Column(all, classOf),
	}
}

func codeOf(s delivery.Outcome) string { return postgres.Clip(postgres.Clean(s.Code), maxCode) }

func msOf(s delivery.Outcome) int64 { return s.Took.Milliseconds() }

func answersOf(all []delivery.Outcome) postgres.ByteaArray {
	answers := make(postgres.ByteaArray, len(all))
	for i, s := range all {
		if len(s.Answer) > 0 {
			answers[i] = s.Answer[:min(len(s.Answer), delivery.MaxAnswer)]
		}
	}
	return answers
}

// statusOf returns nil for deliveries that are retried.
func statusOf(s delivery.Outcome) *string {
	status := delivery.Failed
	switch {
	case s.Kind == delivery.OK:
		status = delivery.Delivered
	case !ends(s):
		return nil
	case s.Code == delivery.CodeDeleted:
		status = delivery.Canceled
	}
	text := string(status)
	return &text
}

// countedOf returns 1 for an outcome that counts against the retry policy.
func countedOf(s delivery.Outcome) int {
	if !s.WaitsUntil.IsZero() && !ends(s) {
		return 0
	}
	if s.Kind == delivery.Ours || s.Kind == delivery.Blocked || s.Kind == delivery.Gone || s.Kind == delivery.Busy ||
		s.Code == delivery.CodeLostLeases || s.Code == delivery.CodeDeleted {
		return 0
	}
	return 1
}

// classOf returns the class for a dead letter, and "" for outcomes that aren't recorded as attempts.
func classOf(s delivery.Outcome) string {
	switch {
	case s.Kind == delivery.Ours && !s.Dead:
		return ""
	case s.Kind == delivery.Ours:
		return string(event.ClassTransient)
	case s.Kind == delivery.Final && s.Code != delivery.CodeLostLeases:
		return string(event.ClassRejected)
	default:
		return string(event.ClassFailed)
	}
}
