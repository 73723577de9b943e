-- Temporal's visibility table has 73 indexes or more, one for every search attribute that could be defined, and every workflow
-- writes to all of them when it starts and again when it ends. Holdfast searches by a handful. This drops the others, in the
-- visibility database, and leaves ordinary workflows out of those for schedules. It may run again after an upgrade of Temporal's
-- schema (whose own migrations look for the indexes that there are). Do not run it where other applications use the same database.
--
-- Temporal stores a namespace's search attributes (Provider, EventType) in any free columns of their type, such as Keyword07, and
-- keeps the names of these columns in its main database. Name them here; with several namespaces, those of all:
--
--   columns=$(temporal operator namespace describe -n NAMESPACE -o json |
--       jq -r '.config.customSearchAttributeAliases | keys | join(",")')
--   psql "$VISIBILITY_DATABASE_URL" -v ON_ERROR_STOP=1 -c "SET holdfast.keep = '$columns'" -f drop-unused-indexes.sql
--
-- A query in Temporal Web by an attribute whose index is gone still works, by reading more. To have one back, take its CREATE
-- INDEX from Temporal's schema.
DO $$
DECLARE
    kept text[] := string_to_array(lower(replace(current_setting('holdfast.keep', true), ' ', '')), ',');
    name text;
    definition text;
BEGIN
    IF kept IS NULL OR cardinality(kept) < 2 THEN
        RAISE EXCEPTION 'set holdfast.keep to the columns of the search attributes Provider and EventType'
            USING HINT = 'The beginning of this file has the command.';
    END IF;
    FOREACH name IN ARRAY kept LOOP
        IF NOT EXISTS (SELECT FROM pg_attribute WHERE attrelid = 'executions_visibility'::regclass AND attname = name AND attnum > 0) THEN
            RAISE EXCEPTION 'holdfast.keep names the column "%", which executions_visibility does not have', name;
        END IF;
        IF NOT EXISTS (
            SELECT FROM pg_index i JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = ANY (i.indkey)
             WHERE i.indrelid = 'executions_visibility'::regclass AND a.attname = name
        ) THEN
            RAISE WARNING 'the index of % is missing, perhaps because an earlier version of this file dropped it', name
                USING HINT = format('CREATE INDEX CONCURRENTLY by_%s ON executions_visibility (namespace_id, %I, '
                    '(COALESCE(close_time, ''9999-12-31 23:59:59'')) DESC, start_time DESC, run_id)',
                    regexp_replace(name, '([0-9]+)$', '_\1'), name);
        END IF;
    END LOOP;
    FOR name IN
        SELECT c.relname FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
         WHERE i.indrelid = 'executions_visibility'::regclass
           AND c.relname NOT IN (
               'executions_visibility_pkey',
               'default_idx', 'by_workflow_id', 'by_workflow_type', 'by_status',
               -- Schedules are found by these.
               'by_temporal_namespace_division', 'by_temporal_scheduled_by_id', 'by_temporal_schedule_paused')
           AND NOT EXISTS (
               SELECT FROM pg_attribute a
                WHERE a.attrelid = i.indrelid AND a.attnum = ANY (i.indkey) AND a.attname = ANY (kept))
    LOOP
        EXECUTE format('DROP INDEX %I', name);
    END LOOP;
    -- Only schedules and their runs have values in these, so an index of the others' NULLs finds nothing.
    FOR name, definition IN
        SELECT c.relname, format('%s WHERE %I IS NOT NULL', pg_get_indexdef(i.indexrelid), a.attname)
          FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[1]
         WHERE i.indrelid = 'executions_visibility'::regclass AND i.indpred IS NULL
           AND c.relname IN ('by_temporal_namespace_division', 'by_temporal_scheduled_by_id', 'by_temporal_schedule_paused')
    LOOP
        EXECUTE format('DROP INDEX %I', name);
        EXECUTE definition;
    END LOOP;
END
$$;
