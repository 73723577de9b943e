package subscriptions

import (
	"context"

	"holdfast/delivery"
	"holdfast/event"
	"holdfast/event/oversight"
	"holdfast/persistence/audit"
	"holdfast/persistence/postgres"
)

// probe ends the pause of a breaker, and one that the destination has asked for. The outcome has its usual effect.
const probe = `
UPDATE destination_states
   SET open_until = least(open_until, statement_timestamp()), resume_at = NULL,
       probe_at = least(probe_at, statement_timestamp()), next_at = statement_timestamp(),
       held = CASE held WHEN 'open' THEN '' ELSE held END
 WHERE destination_id = $1 AND state = 'ready'`

// ProbeDestination makes a failing destination due now, before its breaker would. Event.ErrNotFound: there is no such
// destination, or it is not ready.
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
