package subscriptions

import (
	"context"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	"holdfast/delivery"
	"holdfast/event"
	"holdfast/event/oversight"
	"holdfast/persistence/audit"
	"holdfast/persistence/postgres"
)

const (
	// idOfDestination finds it by name, or else by ID.
	idOfDestination = `
SELECT id, name FROM destinations WHERE deleted_at IS NULL AND (name = $1 OR id = $2) ORDER BY name = $1 DESC LIMIT 1`

	// setState also inserts a missing row. A destination that may go on is due immediately, and an open breaker is probed. The time
	// since when it is failing starts again, so that it is not disabled for earlier failures.
	setState = `
INSERT INTO destination_states AS s (destination_id, state, reason, by) VALUES ($1, $2, $3, $4)
ON CONFLICT (destination_id) DO UPDATE
   SET state = excluded.state, reason = excluded.reason, by = excluded.by, state_at = statement_timestamp(),
       failing_since = CASE excluded.state WHEN 'ready' THEN NULL ELSE s.failing_since END,
       failure = CASE excluded.state WHEN 'ready' THEN '' ELSE s.failure END,
       low_at = CASE excluded.state WHEN 'ready' THEN '-infinity' ELSE s.low_at END,
       open_until = CASE excluded.state WHEN 'ready' THEN least(s.open_until, statement_timestamp()) ELSE s.open_until END,
       resume_at = CASE excluded.state WHEN 'ready' THEN NULL ELSE s.resume_at END,
       probe_at = CASE excluded.state WHEN 'ready' THEN least(s.probe_at, statement_timestamp()) ELSE s.probe_at END,
       held = CASE excluded.state WHEN 'ready' THEN '' ELSE s.held END,
       next_at = CASE excluded.state WHEN 'ready' THEN statement_timestamp() ELSE s.next_at END`

	conditionColumns = `
SELECT d.id, coalesce(s.state, 'ready'), coalesce(s.reason, ''), coalesce(s.by, ''), coalesce(s.state_at, d.created_at),
       coalesce(s.breaker, 'closed'), coalesce(s.failures, 0), CASE s.breaker WHEN 'open' THEN s.open_until END,
       CASE WHEN s.resume_at > statement_timestamp() THEN s.resume_at END, s.failing_since,
       coalesce(s.failure, ''), coalesce(q.waiting, 0), coalesce(q.retrying, 0), coalesce(u.leased, 0), least(q.oldest, u.oldest),
       CASE WHEN coalesce(s.state, 'ready') = 'ready' AND q.next_due IS NOT NULL -- where nothing waits there is none
            THEN greatest(least(q.next_due, CASE WHEN q.retrying > 0 THEN s.probe_at END), -- a probe is earlier than a retry
                          CASE WHEN s.held <> '' THEN nullif(s.next_at, 'infinity') END) END,
       coalesce(q.waiting + q.retrying, 0) >= $2::bigint`

	// queueOfEach counts the pending deliveries of a destination, earliest due first, up to a limit, since there may be millions
	// behind a pause. The number in flight is limited anyway.
	queueOfEach = ` LEFT JOIN LATERAL (
       SELECT count(*) FILTER (WHERE attempts = 0) AS waiting, count(*) FILTER (WHERE attempts > 0) AS retrying,
              min(queued_at) AS oldest, nullif(min(due_at), 'infinity') AS next_due
         FROM (SELECT attempts, queued_at, due_at FROM delivery_queue
                WHERE destination_id = d.id AND (lease IS NULL OR due_at <= statement_timestamp())
                ORDER BY due_at LIMIT $2::bigint) AS counted) AS q ON true
  LEFT JOIN LATERAL (
       SELECT count(*) AS leased, min(queued_at) AS oldest FROM delivery_queue
        WHERE destination_id = d.id AND lease IS NOT NULL AND due_at > statement_timestamp()) AS u ON true`

	selectConditions = conditionColumns + `
  FROM destinations AS d LEFT JOIN destination_states AS s ON s.destination_id = d.id` + queueOfEach + `
 WHERE d.id = ANY ($1::bigint[])`

	selectFailing = `
SELECT d.id, d.name FROM destination_states AS s JOIN destinations AS d ON d.id = s.destination_id
 WHERE s.failing_since <= statement_timestamp() - $1::interval AND s.state <> 'disabled' AND d.deleted_at IS NULL
 ORDER BY s.failing_since LIMIT 1000`
)

var auditOfState = map[delivery.DestinationState]oversight.AuditAction{
	delivery.DestinationReady:    oversight.AuditDestinationResume,
	delivery.DestinationPaused:   oversight.AuditDestinationPause,
	delivery.DestinationDisabled: oversight.AuditDestinationDisable,
}

// SetDestinationState pauses, disables or resumes a destination, and records who did so and why. Attempts in flight continue;
// matching events are queued in each state. It returns event.ErrNotFound if there is no such destination.
func (s *Store) SetDestinationState(
	ctx context.Context, nameOrID string, to delivery.DestinationState, by oversight.Actor,
) (c delivery.Condition, err error) {
	defer postgres.Annotate(&err, "set state of destination "+postgres.Clean(nameOrID))
	action, ok := auditOfState[to]
	if !ok {
		return c, event.Rejectf("invalid_state", "a destination is ready, paused or disabled")
	}
	var id int64
	var name string
	if err := s.db.QueryRow(ctx, idOfDestination, postgres.Clean(nameOrID), number(nameOrID)).Scan(&id, &name); err != nil {
		return c, err
	}
	reason := postgres.Clip(postgres.Clean(by.Reason), audit.MaxReason)
	actor := postgres.Clip(postgres.Clean(by.Name), audit.MaxName)
	did := by.Did(action, auditObject("destination", name), nil)
	if _, err := audit.Change(ctx, s.db, did, setState, id, string(to), reason, actor); err != nil {
		return c, err
	}
	if to == delivery.DestinationReady {
		s.outbox.Signal()
	}
	return s.condition(ctx, id)
}

// Condition returns the health of a destination. It returns event.ErrNotFound if there is no such destination.
func (s *Store) Condition(ctx context.Context, destinationID int64) (delivery.Condition, error) {
	c, err := s.condition(ctx, destinationID)
	return c, postgres.Failure("read condition of destination "+strconv.FormatInt(destinationID, 10), err)
}

func (s *Store) condition(ctx context.Context, id int64) (delivery.Condition, error) {
	return pgx.CollectExactlyOneRow(s.db.Rows(ctx, selectConditions, []int64{id}, countedOfOne), scanCondition)
}

// How many pending deliveries of a destination are counted: for a single destination, and in a list.
const countedOfOne, countedOfEach = 100_000, 1000

// Conditions returns the health of destinations, by ID. It counts up to 1,000 pending deliveries of each.
func (s *Store) Conditions(ctx context.Context, destinationIDs []int64) (map[int64]delivery.Condition, error) {
	all, err := pgx.CollectRows(s.db.Rows(ctx, selectConditions, destinationIDs, countedOfEach), scanCondition)
	if err != nil {
		return nil, postgres.Failure("read conditions", err)
	}
	by := make(map[int64]delivery.Condition, len(all))
	for _, c := range all {
		by[c.DestinationID] = c
	}
	return by, nil
}

// Failing returns the ID and name of destinations that have been failing for at least this long and are not disabled, longest
// first, up to 1,000. It doesn't count their deliveries: every process asks often.
func (s *Store) Failing(ctx context.Context, since time.Duration) ([]delivery.Destination, error) {
	var all []delivery.Destination
	var d delivery.Destination
	_, err := pgx.ForEachRow(s.db.Rows(ctx, selectFailing, since), []any{&d.ID, &d.Name}, func() error {
		all = append(all, d)
		return nil
	})
	return all, postgres.Failure("list failing destinations", err)
}

func scanCondition(row pgx.CollectableRow) (c delivery.Condition, err error) {
	err = row.Scan(&c.DestinationID, &c.State, &c.Reason, &c.By, &c.StateAt, &c.Breaker, &c.Failures, &c.OpenUntil,
		&c.ResumeAt, &c.FailingSince, &c.Failure, &c.Waiting, &c.Retrying, &c.Leased, &c.Oldest, &c.NextAt, &c.AtLeast)
	return c, err
}

// probe ends the pause of a breaker, and one that the destination has asked for, and makes the next retry due as a probe. If the
// next delivery has no counted attempt, it can't be a probe and is made due itself. The outcome has its usual effect. Ordered
// deliveries are probes only as heads: all others have no finite due_at.
const probe = `
WITH first AS MATERIALIZED (
     SELECT ctid AS place, attempts FROM delivery_queue
      WHERE destination_id = $1 AND due_at < 'infinity' AND lease IS NULL ORDER BY due_at LIMIT 1 FOR UPDATE SKIP LOCKED
), uncounted AS (
     UPDATE delivery_queue AS q SET due_at = least(due_at, statement_timestamp())
       FROM first WHERE q.ctid = first.place AND first.attempts = 0
)
UPDATE destination_states
   SET open_until = least(open_until, statement_timestamp()), resume_at = NULL,
       probe_at = statement_timestamp(), next_at = statement_timestamp(),
       held = CASE held WHEN 'open' THEN '' ELSE held END
 WHERE destination_id = $1 AND state = 'ready'`

// ProbeDestination makes a destination's next attempt due now: before its breaker closes, before the pause that it has asked for
// ends, and before the next retry is due. If that succeeds, the other retries follow at once. It returns event.ErrNotFound if
// there is no such destination, or if it isn't ready.
func (s *Store) ProbeDestination(ctx context.Context, nameOrID string, by oversight.Actor) (c delivery.Condition, err error) {
	defer postgres.Annotate(&err, "probe destination "+postgres.Clip(postgres.Clean(nameOrID), 100))
	var id int64
	var name string
	if err := s.db.QueryRow(ctx, idOfDestination, postgres.Clean(nameOrID), number(nameOrID)).Scan(&id, &name); err != nil {
		return c, err
	}
	did := by.Did(oversight.AuditDestinationProbe, auditObject("destination", name), nil)
	probed, err := audit.Change(ctx, s.db, did, probe, id)
	if err == nil && !probed {
		err = event.ErrNotFound
	}
	if err != nil {
		return c, err
	}
	s.outbox.Signal()
	return s.condition(ctx, id)
}
