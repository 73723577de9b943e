package outbox

import (
	"context"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"holdfast/delivery"
	"holdfast/event/oversight"
	"holdfast/persistence/audit"
	"holdfast/persistence/postgres"
)

// unhealthy is the condition for a destination s that a success may change.
const unhealthy = `(s.breaker <> 'closed' OR s.failures > 0 OR s.failing_since IS NOT NULL OR s.busy_answers > 0
       OR s.probe_at IS NOT NULL)`

// lockChanged locks the destinations of a batch that may change: those with an outcome other than OK or Final ($2), and those
// that aren't fully healthy. All others are neither locked nor written, and can be leased meanwhile.
const lockChanged = `
SELECT s.destination_id, coalesce(d.version, 0), s.state, s.breaker, s.epoch, s.failures, s.probes_ok, s.open_until, s.closed_at,
       s.failing_since, s.failure, s.resume_at, s.busy_answers,
       s.probe_at IS NOT NULL
  FROM destination_states AS s LEFT JOIN destinations AS d ON d.id = s.destination_id
 WHERE s.destination_id = ANY ($1::bigint[])
   AND (s.destination_id = ANY ($2::bigint[]) OR ` + unhealthy + `)
 ORDER BY s.destination_id
   FOR UPDATE OF s`

// writeChanged stores the changes that outcomes made to destinations. It also sets when a destination is due: now if it has
// capacity again, otherwise at its next retry or probe. A destination whose breaker opens, or that has asked for a pause, is
// blocked until it may be tried.
const writeChanged = `
UPDATE destination_states AS s
   SET breaker = n.breaker, epoch = n.epoch, failures = n.failures, probes_ok = n.probes_ok, open_until = n.open_until,
       closed_at = n.closed_at, failing_since = n.failing_since, failure = n.failure,
       state = CASE n.disabled WHEN '' THEN s.state ELSE 'disabled' END,
       reason = CASE n.disabled WHEN '' THEN s.reason ELSE n.disabled END,
       by = CASE n.disabled WHEN '' THEN s.by ELSE 'endpoint' END,
       state_at = CASE n.disabled WHEN '' THEN s.state_at ELSE statement_timestamp() END,
       resume_at = n.resume_at, busy_answers = n.busy_answers,
       probe_at = CASE WHEN n.needs_probe THEN ` + nextProbe + ` END,
       held = CASE WHEN n.breaker = 'open' OR n.resume_at > statement_timestamp() THEN 'open'
                   WHEN s.held IN ('open', 'full') THEN '' ELSE s.held END,
       next_at = CASE WHEN n.breaker = 'open' THEN greatest(n.open_until, n.resume_at)
                      WHEN n.resume_at > statement_timestamp() THEN n.resume_at
                      WHEN s.held IN ('open', 'full') THEN statement_timestamp()
                      ELSE least(s.next_at, n.retry_at,
                                 CASE WHEN n.needs_probe THEN ` + nextProbe + ` END) END
  FROM unnest($1::bigint[], $2::text[], $3::bigint[], $4::integer[], $5::integer[], $6::timestamptz[], $7::timestamptz[],
              $8::timestamptz[], $9::text[], $10::text[], $11::timestamptz[], $12::timestamptz[], $13::integer[],
              $14::boolean[], $15::timestamptz[])
       AS n (id, breaker, epoch, failures, probes_ok, open_until, closed_at, failing_since, failure, disabled, retry_at,
             resume_at, busy_answers, needs_probe, probe_after)
 WHERE s.destination_id = n.id`

// nextProbe is when the destination may be probed next: at the stored time or, without one, in 30 s, but not before its
// Retry-After has passed (greatest ignores null).
const nextProbe = `greatest(coalesce(s.probe_at, statement_timestamp() + interval '30 s'), n.probe_after)`

// applyOutcomes updates the breakers with the outcomes.
func (s *Store) applyOutcomes(
	ctx context.Context, t *postgres.Transaction, locked []lockedDestination, outcomes []delivery.Outcome, now time.Time,
) (transitions []delivery.Transition, err error) {
	if len(locked) == 0 {
		return nil, nil
	}
	versions := make(map[int64]int64, len(locked))
	for _, d := range locked {
		versions[d.id] = d.version
	}
	all, err := s.limitsFor(ctx, t, versions)
	if err != nil {
		return nil, err
	}
	for i := range locked {
		d := &locked[i]
		d.settle(outcomes, all[d.id], now)
		if d.is.state != d.was.state || d.disabled != "" {
			transitions = append(transitions, delivery.Transition{
				DestinationID: d.id, Destination: all[d.id].name, From: d.was.state, To: d.is.state, Disabled: d.disabled,
			})
		}
	}
	return transitions, nil
}

// lockedDestination is a destination that this transaction has locked.
type lockedDestination struct {
	id, version int64
	state       delivery.DestinationState
	was, is     breaker
	disabled    string // the reason, if the outcomes have disabled it
	retryAt     *time.Time
	recovers    bool // first success after a failure
}

func scanLocked(row pgx.CollectableRow) (d lockedDestination, err error) {
	b := &d.was
	err = row.Scan(&d.id, &d.version, &d.state, &b.state, &b.epoch, &b.failures, &b.probesOK, &b.openUntil, &b.closedAt,
		&b.failingSince, &b.failure, &b.resumeAt, &b.busyAnswers,
		&b.needsProbe)
	d.is = d.was
	return d, err
}

func (d *lockedDestination) settle(outcomes []delivery.Outcome, l limits, now time.Time) {
	var counts tally
	for _, s := range outcomes {
		if s.DestinationID != d.id {
			continue
		}
		if s.Epoch == d.was.epoch || s.Kind == delivery.Busy {
			counts.add(s)
		}
		if s.Kind == delivery.Gone && d.state != delivery.DestinationDisabled {
			d.disabled = delivery.GoneReason + postgres.Clip(postgres.Clean(why(s.Result)), maxError)
		}
		if !ends(s) && (d.retryAt == nil || s.DueAt.Before(*d.retryAt)) {
			d.retryAt = &s.DueAt
		}
	}
	counts.badWhy = postgres.Clip(postgres.Clean(counts.badWhy), maxError)
	d.is = d.was.after(counts, l, now)
	if d.recovers = d.was.needsProbe && counts.ok > 0; d.recovers {
		d.retryAt = &now
	}
}

func (d *lockedDestination) changes() bool {
	return d.is != d.was || d.disabled != "" || d.retryAt != nil
}

// pullForward makes failed deliveries of recovered destinations due. Each delivery is pulled forward once: if it fails again, the
// failure is its own, and it keeps its schedule. If there are more than 10,000, those that are due latest keep theirs as well.
const pullForward = `
WITH picked AS MATERIALIZED (
     SELECT q.place
       FROM unnest($1::bigint[]) AS d (id)
      CROSS JOIN LATERAL (
            SELECT ctid AS place FROM delivery_queue AS q
             WHERE q.destination_id = d.id AND q.due_at > statement_timestamp() AND q.due_at < 'infinity' AND q.lease IS NULL
               AND q.attempts > 0 AND NOT q.pulled_forward
             ORDER BY q.due_at LIMIT 10000 FOR UPDATE SKIP LOCKED) AS q
)
UPDATE delivery_queue AS q SET due_at = statement_timestamp(), pulled_forward = true FROM picked AS p WHERE q.ctid = p.place`

func queuePull(b *pgx.Batch, locked []lockedDestination) {
	recovered := slices.DeleteFunc(slices.Clone(locked), func(d lockedDestination) bool { return !d.recovers })
	if len(recovered) > 0 {
		b.Queue(pullForward, postgres.Column(recovered, func(d lockedDestination) int64 { return d.id }))
	}
}

func queueChanged(b *pgx.Batch, locked []lockedDestination, transitions []delivery.Transition) {
	locked = slices.DeleteFunc(locked, func(d lockedDestination) bool { return !d.changes() })
	if len(locked) == 0 {
		return
	}
	b.Queue(writeChanged,
		postgres.Column(locked, func(d lockedDestination) int64 { return d.id }),
		postgres.Column(locked, func(d lockedDestination) string { return string(d.is.state) }),
		postgres.Column(locked, func(d lockedDestination) int64 { return d.is.epoch }),
		postgres.Column(locked, func(d lockedDestination) int { return d.is.failures }),
		postgres.Column(locked, func(d lockedDestination) int { return d.is.probesOK }),
		postgres.Column(locked, func(d lockedDestination) *time.Time { return d.is.openUntil }),
		postgres.Column(locked, func(d lockedDestination) *time.Time { return d.is.closedAt }),
		postgres.Column(locked, func(d lockedDestination) *time.Time { return d.is.failingSince }),
		postgres.Column(locked, func(d lockedDestination) string { return d.is.failure }),
		postgres.Column(locked, func(d lockedDestination) string { return d.disabled }),
		postgres.Column(locked, func(d lockedDestination) *time.Time { return d.retryAt }),
		postgres.Column(locked, func(d lockedDestination) *time.Time { return d.is.resumeAt }),
		postgres.Column(locked, func(d lockedDestination) int { return d.is.busyAnswers }),
		postgres.Column(locked, func(d lockedDestination) bool { return d.is.needsProbe }),
		postgres.Column(locked, func(d lockedDestination) *time.Time { return d.is.probeAfter }))
	for _, t := range transitions {
		if t.Disabled != "" {
			by := oversight.Actor{Name: "endpoint", Reason: t.Disabled}
			audit.Queue(b, by.Did(oversight.AuditDestinationDisable, "destination:"+t.Destination, nil))
		}
	}
}
