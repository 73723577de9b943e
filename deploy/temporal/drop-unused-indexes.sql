-- Temporal's visibility table has 73 indexes, one for every search attribute that anybody might define, and every workflow
-- writes to all of them when it starts and again when it ends. Holdfast searches by a handful. This drops the others, in the
-- visibility database, and may run again after an upgrade of Temporal's schema (whose own migrations look for the indexes
-- that there are). Do not run it where other applications share the namespace's database.
--
-- A query in Temporal Web by an attribute whose index is gone still works, by reading more. To have one back, take its CREATE
-- INDEX from Temporal's schema.
DO $$
DECLARE name text;
BEGIN
    FOR name IN
        SELECT indexname FROM pg_indexes
         WHERE schemaname = current_schema AND tablename = 'executions_visibility'
           AND indexname NOT IN (
               'executions_visibility_pkey',
               'default_idx', 'by_execution_time', 'by_workflow_id', 'by_workflow_type', 'by_status', 'by_task_queue',
               -- Provider and EventType: search attributes take the first free columns of their type.
               'by_keyword_01', 'by_keyword_02',
               -- Schedules are found by these.
               'by_temporal_namespace_division', 'by_temporal_scheduled_by_id', 'by_temporal_schedule_paused')
    LOOP
        EXECUTE format('DROP INDEX %I', name);
    END LOOP;
END
$$;
