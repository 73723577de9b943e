package check

import "holdfast/internal/ledger"

// countBroken counts the names that QUERY returns, and returns the first of them.
const countBroken = `
WITH broken (name) AS (QUERY)
SELECT count(*),
       coalesce((SELECT array_agg(name) FROM (SELECT name FROM broken ORDER BY name COLLATE "C" LIMIT $1) AS first), '{}')
  FROM broken`

// ledgerInvariants are the queries that find violations of each invariant: workflow IDs, each once. Fold is checked by checkFolds
// instead.
var ledgerInvariants = []struct {
	name  ledger.Invariant
	query string
}{
	{ledger.Lost, `
SELECT workflow_id FROM ledger_keys AS l
 WHERE acknowledged
   AND NOT EXISTS (SELECT FROM ledger_events AS e WHERE e.workflow_id = l.workflow_id)
   AND NOT EXISTS (SELECT FROM ledger_dead AS d WHERE d.workflow_id = l.workflow_id)
   AND NOT EXISTS (SELECT FROM ledger_inbox AS i WHERE i.workflow_id = l.workflow_id)`},

	// A key may be used again once its window has passed.
	{ledger.Duplicated, `
SELECT workflow_id FROM (
       SELECT workflow_id, received_at, dedupe_window,
              lag(received_at) OVER (PARTITION BY workflow_id ORDER BY received_at, id) AS before
         FROM ledger_events) AS stored
 WHERE before IS NOT NULL AND (dedupe_window IS NULL OR received_at < before + dedupe_window)
 UNION
SELECT workflow_id FROM ledger_dead WHERE state IN ('open', 'replaying', 'exhausted')
 GROUP BY workflow_id HAVING count(*) > 1`},

	{ledger.Unexpected, `
SELECT workflow_id FROM (
       SELECT workflow_id FROM ledger_events UNION SELECT workflow_id FROM ledger_dead
        UNION SELECT workflow_id FROM ledger_inbox) AS stored
 WHERE NOT EXISTS (SELECT FROM ledger_keys AS l WHERE l.workflow_id = stored.workflow_id AND NOT l.refused)`},

	// Events that were only refused are unexpected already, whatever their bytes.
	{ledger.Bytes, `
SELECT DISTINCT workflow_id FROM (
       SELECT workflow_id, sha256 FROM ledger_events UNION ALL SELECT workflow_id, sha256 FROM ledger_dead
        UNION ALL SELECT workflow_id, sha256 FROM ledger_inbox) AS stored
  JOIN ledger_keys AS l USING (workflow_id)
 WHERE NOT l.refused
   AND NOT EXISTS (SELECT FROM ledger_entries AS s
                    WHERE s.workflow_id = stored.workflow_id AND s.sha256 = stored.sha256 AND s.outcome <> 'fail')`},

	// A name must not stand for a name that stands for another one. Links collapsed by retention are an exception: such an entity
	// keeps its row.
	{ledger.Names, `
SELECT provider || '/' || kind || '/' || name FROM entity_names AS n
 WHERE EXISTS (SELECT FROM entity_names AS o WHERE o.provider = n.provider AND o.kind = n.kind AND o.name = n.external_id)
    OR EXISTS (SELECT FROM entities AS e WHERE e.provider = n.provider AND e.kind = n.kind AND e.external_id = n.name
                   AND e.base_id IS NULL)`},

	{ledger.TwoEnds, `
SELECT DISTINCT workflow_id FROM ledger_events AS e
 WHERE status = 'processed'
   AND EXISTS (SELECT FROM ledger_dead AS d
                WHERE d.workflow_id = e.workflow_id AND d.state IN ('open', 'replaying', 'exhausted'))`},

	{ledger.Stuck, `
SELECT workflow_id FROM ledger_events AS e
 WHERE status <> 'processed'
   AND NOT EXISTS (SELECT FROM ledger_dead AS d WHERE d.workflow_id = e.workflow_id AND d.state <> 'resolved')
 UNION
SELECT workflow_id FROM ledger_inbox`},

	{ledger.Undone, `
SELECT workflow_id FROM ledger_events AS e JOIN decisions AS v ON v.event_id = e.id
 WHERE e.status = 'processed' OR EXISTS (SELECT FROM event_entities AS l WHERE l.event_id = e.id)
 UNION
SELECT workflow_id FROM ledger_dead AS d JOIN decisions AS v USING (event_id)
 WHERE d.state IN ('open', 'replaying', 'exhausted')`},

	// Days that the feed no longer has are not checked. An entity that was removed and is created again starts with any revision.
	{ledger.Untold, `
SELECT workflow_id FROM ledger_events AS e
 WHERE e.status = 'processed' AND e.processed_at > (SELECT min(at) FROM changes)
   AND NOT EXISTS (SELECT FROM feed_items AS i
                    WHERE i.subject = 'event' AND i.id = e.id::text AND i.action IN ('processed', 'ignored'))
 UNION
SELECT provider || '/' || kind || '/' || id FROM (
       SELECT provider, kind, id, revision, lag(revision) OVER life AS before, lag(action) OVER life AS was
         FROM feed_items WHERE subject = 'entity' WINDOW life AS (PARTITION BY provider, kind, id ORDER BY revision)) AS reported
 WHERE was <> 'removed' AND revision <> before + 1
 UNION
SELECT provider || '/' || kind || '/' || external_id FROM entities AS e
 WHERE updated_at > (SELECT min(at) FROM changes) AND revision > 0
   AND NOT EXISTS (SELECT FROM feed_items AS i
                    WHERE i.subject = 'entity' AND i.provider = e.provider AND i.kind = e.kind AND i.id = e.external_id
                      AND i.revision = e.revision)`},

	{ledger.Leaks, `
SELECT coalesce(application_name, '') || ' pid ' || pid FROM pg_stat_activity
 WHERE datname = current_database() AND pid <> pg_backend_pid() AND state LIKE 'idle in transaction%'
   AND now() - state_change > interval '5 seconds'`},

	{ledger.Recovered, `
SELECT workflow_id FROM ledger_keys
 WHERE NOT acknowledged AND NOT refused
   AND workflow_id IN (SELECT workflow_id FROM ledger_events UNION SELECT workflow_id FROM ledger_dead
                        UNION SELECT workflow_id FROM ledger_inbox)`},
}
