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

// lockChanged locks the destinations of a batch that may change: those with failures ($2), and those that aren't fully healthy.
// All others are neither locked nor written, and can be leased meanwhile.
const lockChanged = `
SELECT s.destination_id, coalesce(d.version, 0), s.state, s.breaker, s.epoch, s.failures, s.probes_ok, s.open_until, s.closed_at,
       s.trouble_since, s.trouble, s.resume_at, s.busy_answers,
       s.probe_at IS NOT NULL
  FROM destination_states AS s LEFT JOIN destinations AS d ON d.id = s.destination_id
 WHERE s.destination_id = ANY ($1::bigint[])
   AND (s.destination_id = ANY ($2::bigint[]) OR s.breaker <> 'closed' OR s.failures > 0 OR s.trouble_since IS NOT NULL
        OR s.busy_answers > 0 OR s.probe_at IS NOT NULL)
 ORDER BY s.destination_id
   FOR UPDATE OF s`

// writeChanged writes what outcomes have changed of destinations, and makes those due that have retries, or capacity again. A
// destination whose breaker opens, or that has asked for a pause, is blocked until it may be tried.
const writeChanged = `
UPDATE destination_states AS s
   SET breaker = n.breaker, epoch = n.epoch, failures = n.failures, probes_ok = n.probes_ok, open_until = n.open_until,
       closed_at = n.closed_at, trouble_since = n.trouble_since, trouble = n.trouble,
       state = CASE n.disabled WHEN '' THEN s.state ELSE 'disabled' END,
       reason = CASE n.disabled WHEN '' THEN s.reason ELSE n.disabled END,
       by = CASE n.disabled WHEN '' THEN s.by ELSE 'receiver' END,
       state_at = CASE n.disabled WHEN '' THEN s.state_at ELSE statement_timestamp() END,
       resume_at = n.resume_at, busy_answers = n.busy_answers,
       probe_at = CASE WHEN n.is_probed THEN ` + nextProbe + ` END,
       held = CASE WHEN n.breaker = 'open' OR n.resume_at > statement_timestamp() THEN 'open'
                   WHEN s.held IN ('open', 'full') THEN '' ELSE s.held END,
       next_at = CASE WHEN n.breaker = 'open' THEN greatest(n.open_until, n.resume_at)
                      WHEN n.resume_at > statement_timestamp() THEN n.resume_at
                      WHEN s.held IN ('open', 'full') THEN statement_timestamp()
                      ELSE least(s.next_at, n.retry_at,
                                 CASE WHEN n.is_probed THEN ` + nextProbe + ` END) END
  FROM unnest($1::bigint[], $2::text[], $3::bigint[], $4::integer[], $5::integer[], $6::timestamptz[], $7::timestamptz[],
              $8::timestamptz[], $9::text[], $10::text[], $11::timestamptz[], $12::timestamptz[], $13::integer[],
              $14::boolean[], $15::timestamptz[])
       AS n (id, breaker, epoch, failures, probes_ok, open_until, closed_at, trouble_since, trouble, disabled, retry_at,
             resume_at, busy_answers, is_probed, probe_after)
 WHERE s.destination_id = n.id`

// nextProbe is not before the time named by the destination, if any: greatest ignores null.
const nextProbe = `greatest(coalesce(s.probe_at, statement_timestamp() + interval '30 s'), n.probe_after)`

// applyOutcomes updates the breakers with the outcomes.
func (s *Store) applyOutcomes(
	ctx context.Context, t *postgres.Transaction, changed []transition, settled []delivery.Settled, now time.Time,
) (transitions []delivery.Transition, err error) {
	if len(changed) == 0 {
		return nil, nil
	}
	versions := make(map[int64]int64, len(changed))
	for _, d := range changed {
		versions[d.id] = d.version
	}
	all, err := s.limitsFor(ctx, t, versions)
	if err != nil {
		return nil, err
	}
	for i := range changed {
		d := &changed[i]
		d.settle(settled, all[d.id], now)
		if d.is.state != d.was.state || d.disabled != "" {
			transitions = append(transitions, delivery.Transition{
				DestinationID: d.id, Destination: all[d.id].name, From: d.was.state, To: d.is.state, Disabled: d.disabled,
			})
		}
	}
	return transitions, nil
}

// transition is a destination that this transaction has locked.
type transition struct {
	id, version int64
	state       delivery.DestinationState
	was, is     breaker
	disabled    string // the reason, if the outcomes have disabled it
	retryAt     *time.Time
	recovers    bool // first success after a failure
}

func scanTransition(row pgx.CollectableRow) (t transition, err error) {
	b := &t.was
	err = row.Scan(&t.id, &t.version, &t.state, &b.state, &b.epoch, &b.failures, &b.probesOK, &b.openUntil, &b.closedAt,
		&b.failingSince, &b.failure, &b.resumeAt, &b.busyAnswers,
		&b.isProbed)
	t.is = t.was
	return t, err
}

func (t *transition) settle(settled []delivery.Settled, l limits, now time.Time) {
	var counts tally
	for _, s := range settled {
		if s.DestinationID != t.id {
			continue
		}
		if s.Epoch == t.was.epoch || s.Kind == delivery.Busy {
			counts.add(s)
		}
		if s.Kind == delivery.Gone && t.state != delivery.DestinationDisabled {
			t.disabled = delivery.GoneReason + postgres.Clip(postgres.Clean(why(s.Result)), maxError)
		}
		if !ends(s) && (t.retryAt == nil || s.DueAt.Before(*t.retryAt)) {
			t.retryAt = &s.DueAt
		}
	}
	counts.badWhy = postgres.Clip(postgres.Clean(counts.badWhy), maxError)
	t.is = t.was.after(counts, l, now)
	if t.recovers = t.was.isProbed && counts.ok > 0; t.recovers {
		t.retryAt = &now
	}
}

func (t *transition) changes() bool { return t.is != t.was || t.disabled != "" || t.retryAt != nil }

// pullForward makes failed deliveries of recovered destinations due. Each delivery is pulled forward once: if it fails again, the
// failure is its own, and it keeps its schedule. If there are more than 10,000, those that are due latest keep theirs as well.
const pullForward = `
WITH picked AS MATERIALIZED (
     SELECT q.place
       FROM unnest($1::bigint[]) AS d (id)
      CROSS JOIN LATERAL (
            SELECT ctid AS place FROM delivery_queue AS q
             WHERE q.destination_id = d.id AND q.due_at > statement_timestamp() AND q.lease IS NULL AND q.attempts > 0
               AND NOT q.pulled_forward
             ORDER BY q.due_at LIMIT 10000 FOR UPDATE SKIP LOCKED) AS q
)
UPDATE delivery_queue AS q SET due_at = statement_timestamp(), pulled_forward = true FROM picked AS p WHERE q.ctid = p.place`

func queuePull(b *pgx.Batch, changed []transition) {
	recovered := slices.DeleteFunc(slices.Clone(changed), func(t transition) bool { return !t.recovers })
	if len(recovered) > 0 {
		b.Queue(pullForward, postgres.Column(recovered, func(t transition) int64 { return t.id }))
	}
}

func queueChanged(b *pgx.Batch, changed []transition, transitions []delivery.Transition) {
	changed = slices.DeleteFunc(changed, func(t transition) bool { return !t.changes() })
	if len(changed) == 0 {
		return
	}
	b.Queue(writeChanged,
		postgres.Column(changed, func(t transition) int64 { return t.id }),
		postgres.Column(changed, func(t transition) string { return string(t.is.state) }),
		postgres.Column(changed, func(t transition) int64 { return t.is.epoch }),
		postgres.Column(changed, func(t transition) int { return t.is.failures }),
		postgres.Column(changed, func(t transition) int { return t.is.probesOK }),
		postgres.Column(changed, func(t transition) *time.Time { return t.is.openUntil }),
		postgres.Column(changed, func(t transition) *time.Time { return t.is.closedAt }),
		postgres.Column(changed, func(t transition) *time.Time { return t.is.failingSince }),
		postgres.Column(changed, func(t transition) string { return t.is.failure }),
		postgres.Column(changed, func(t transition) string { return t.disabled }),
		postgres.Column(changed, func(t transition) *time.Time { return t.retryAt }),
		postgres.Column(changed, func(t transition) *time.Time { return t.is.resumeAt }),
		postgres.Column(changed, func(t transition) int { return t.is.busyAnswers }),
		postgres.Column(changed, func(t transition) bool { return t.is.isProbed }),
		postgres.Column(changed, func(t transition) *time.Time { return t.is.probeAfter }))
	for _, t := range transitions {
		if t.Disabled != "" {
			by := oversight.Actor{Name: "receiver", Reason: t.Disabled}
			audit.Queue(b, by.Did(oversight.AuditDestinationDisable, "destination:"+t.Destination, nil))
		}
	}
}
