package persistence_test

import (
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
)

// stateOfStatistics is what PostgreSQL may know about tables when it makes a plan, and statements that make it so.
type stateOfStatistics struct {
	name, set string
	fill      string // fills the tables again; empty if they are full
	isEmptied bool   // PostgreSQL assumes that the tables are empty
}

// statesOfStatistics has a table that was empty when it was last analyzed, and appears to have one row, however many it has by
// now. If it is emptied after it was analyzed, plans are made for no row, and are kept while the table fills again.
var statesOfStatistics = []stateOfStatistics{
	{name: "are up to date", set: `SELECT`},
	{name: "were never collected", set: `
DELETE FROM pg_statistic WHERE starelid IN (SELECT oid FROM queues);
UPDATE pg_class SET relpages = 0, reltuples = -1 WHERE oid IN (SELECT oid FROM queues)`},
	{name: "are of an empty table, which was filled afterwards", isEmptied: true, set: `
DELETE FROM pg_statistic WHERE starelid IN (SELECT oid FROM queues);
UPDATE pg_class SET reltuples = 0 WHERE oid IN (SELECT oid FROM queues)`},
	{name: "are of a full table, which was emptied afterwards", isEmptied: true, set: `
CREATE TEMPORARY TABLE counted ON COMMIT DROP AS
SELECT oid, relpages, reltuples FROM pg_class WHERE oid IN (SELECT oid FROM queues);
DO $$ DECLARE queue regclass; BEGIN
    FOR queue IN SELECT oid FROM queues WHERE oid = name LOOP
        EXECUTE format('CREATE TEMPORARY TABLE %I ON COMMIT DROP AS TABLE %s', 'all_of_' || queue, queue);
        EXECUTE format('TRUNCATE %s', queue);
    END LOOP;
END $$;
UPDATE pg_class AS c SET relpages = t.relpages, reltuples = t.reltuples FROM counted AS t WHERE t.oid = c.oid`, fill: `
SET LOCAL session_replication_role = replica; -- dead letters write no changes
DO $$ DECLARE queue regclass; BEGIN
    FOR queue IN SELECT oid FROM queues WHERE oid = name LOOP
        EXECUTE format('INSERT INTO %s OVERRIDING SYSTEM VALUE TABLE %I', queue, 'all_of_' || queue);
    END LOOP;
END $$;
SET LOCAL session_replication_role = origin`},
}

// workQueues are empty whenever everything is processed, so PostgreSQL analyzes them while they are empty again and again.
var workQueues = []string{
	"inbox", "delivery_queue", "delivery_fanouts", "delivery_unmatched", "delivery_order_freed", "import_rows", "recovery_items",
}

// queues are the tables that can be empty, with their indexes: the work queues, and tables whose rows retention removes even if no
// event follows, including events, entities and all partitions. Those are analyzed as empty once an installation stands still for
// as long as their rows are kept, and again within a minute after 50 new rows.
const queues = `
CREATE TEMPORARY TABLE queues ON COMMIT DROP AS
WITH listed AS (
     SELECT name FROM unnest($1::regclass[] || '{rebuild_entities, rebuild_keys, dead_letters, error_log, changes, sessions, rates,
                idempotency_keys, event_contents, event_duplicates, conflicts, notification_claims, events, entities,
                event_entities, entity_checkpoints, entity_bases, entity_names, decisions, fetched_states}'::regclass[]) AS name
      UNION
     SELECT inhrelid::regclass FROM pg_inherits WHERE inhparent = ANY ('{changes, deliveries, delivery_attempts}'::regclass[]))
SELECT c.oid, listed.name FROM listed JOIN pg_class AS c ON c.oid = listed.name AND c.relkind = 'r'
 UNION ALL
SELECT i.indexrelid, listed.name FROM listed JOIN pg_index AS i ON i.indrelid = listed.name`

// everyStateOfStatistics calls run in each state.
func everyStateOfStatistics(t *testing.T, tx pgx.Tx, run func(stateOfStatistics)) {
	t.Helper()
	_, err := tx.Exec(t.Context(), queues, pgx.QueryExecModeSimpleProtocol, workQueues)
	require.NoError(t, err)
	for _, state := range statesOfStatistics {
		_, err = tx.Exec(t.Context(), "SAVEPOINT state; "+state.set)
		require.NoError(t, err, state.name)
		run(state)
		_, err = tx.Exec(t.Context(), "ROLLBACK TO state")
		require.NoError(t, err)
	}
}
