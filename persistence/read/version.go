package read

import (
	"context"

	"holdfast/persistence/postgres"
)

// versionOf combines the versions of all rows about an event. Those of destinations change with each delivery, also of others, so
// only what blocks a delivery counts.
const versionOf = `
SELECT coalesce(md5(string_agg(version, ' ' ORDER BY version)), '') FROM (
       SELECT concat('e', xmin, ctid) AS version FROM events WHERE id = $1::uuid
        UNION ALL
       SELECT concat('l', xmin, ctid) FROM dead_letters WHERE event_id = $1::uuid
        UNION ALL
       SELECT concat('d', xmin, tableoid, ctid) FROM deliveries WHERE event_id = $1::uuid
        UNION ALL
       SELECT concat('q', q.xmin, q.ctid, s.state, s.breaker, s.resume_at, s.held)
         FROM delivery_queue AS q LEFT JOIN destination_states AS s ON s.destination_id = q.destination_id
        WHERE q.event_id = $1::uuid
        UNION ALL
       SELECT concat('r', max(id)) FROM error_log WHERE event_id = $1::uuid
        UNION ALL
       SELECT concat('o', xmin, ctid) FROM decisions WHERE event_id = $1::uuid
        UNION ALL
       SELECT concat('u', xmin, ctid) FROM event_duplicates WHERE event_id = $1::uuid) AS rows`

// EventVersion returns a text that changes whenever a row about an event does: the event itself, its dead letters, deliveries,
// errors, the decision about it or the number of its redeliveries. Unknown events have one as well.
func (s *Store) EventVersion(ctx context.Context, id string) (version string, err error) {
	err = s.db.QueryRow(ctx, versionOf, postgres.Clean(id)).Scan(&version)
	return version, postgres.Failure("read version of event "+postgres.Clean(id), err)
}
