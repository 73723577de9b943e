package persistence

import (
	"context"
	"slices"

	"github.com/jackc/pgx/v5"

	"holdfast/event"
)

const (
	// lockShortly is eventLock for an event that does not wait for long, neither for itself nor for an entity that somebody else
	// holds, before it is stored. Its plans are those of a batch: without that, to plan lockRows anew for each event costs more
	// than to run it.
	lockShortly = `
SELECT set_config('lock_timeout', '500ms', true), ` + settingsOfPlans + `, pg_advisory_xact_lock(hashtextextended(lower($1), 0))`

	// lockRows is lockMany for those who do not look.
	lockRows = `
SELECT count(*) FROM unnest($1::text[], $2::text[], $3::text[]) AS wanted (provider, kind, external_id)
 CROSS JOIN LATERAL (
       SELECT FROM entities
        WHERE provider = wanted.provider AND kind = wanted.kind AND external_id = wanted.external_id
          FOR UPDATE) AS e`

	// processFirst claims the key of an event, as claimKey does, stores the event with its links, and brings its entities up to
	// date, as Entity.Apply does: a snapshot or a delete that comes after all others replaces the state, and of one before a
	// later one nothing shows. Where only patches are later the entity is left alone, and the event persisted, not processed:
	// that takes a fold. Nothing happens, and no row is returned, if the event has the key or a row already, if another has
	// the key, or if a dead letter of it waits. The entities are locked before, so that what is later stays.
	processFirst = `
WITH fresh AS (` + claimOfKey + `
 WHERE NOT EXISTS (SELECT FROM events WHERE id = $3::uuid)
   AND NOT EXISTS (SELECT FROM dead_letters WHERE event_id = $3::uuid AND state IN ('open', 'redriving', 'exhausted'))
` + claimOverHeld + `
RETURNING held.event_id AS id),
changes AS (
SELECT id, kind, external_id, op, change::jsonb AS state, version, position
  FROM fresh, unnest($20::text[], $21::text[], $22::text[], $23::text[], $24::bigint[])
       WITH ORDINALITY AS change (kind, external_id, op, change, version, position)),
links AS (
INSERT INTO event_entities (event_id, provider, kind, external_id, position, op, change, version, occurred_at)
SELECT id, $1, kind, external_id, position, op, state, version, $14::timestamptz FROM changes),
upserted AS (
INSERT INTO entities AS e (provider, kind, external_id, state, deleted, version, occurred_at, last_event_id)
SELECT $1, kind, external_id, state, op = 'delete', version, $14::timestamptz, id FROM changes
 ORDER BY kind COLLATE "C", external_id COLLATE "C" -- the order in which everybody locks
    ON CONFLICT (provider, kind, external_id) DO UPDATE
   SET state = excluded.state, deleted = excluded.deleted, version = excluded.version, occurred_at = excluded.occurred_at,
       last_event_id = excluded.last_event_id, updated_at = now()
 WHERE (coalesce(e.version::numeric, '-Infinity'), coalesce(e.occurred_at, '-infinity'),
        coalesce(e.last_event_id, '00000000-0000-0000-0000-000000000000'))
     < (coalesce(excluded.version::numeric, '-Infinity'), excluded.occurred_at, excluded.last_event_id)
RETURNING 1),
outdone AS (
SELECT FROM changes AS mine
 WHERE EXISTS (SELECT FROM event_entities AS later
                WHERE provider = $1 AND kind = mine.kind AND external_id = mine.external_id AND op <> 'patch'
                  AND (coalesce(version::numeric, '-Infinity'), occurred_at, event_id)
                    > (coalesce(mine.version::numeric, '-Infinity'), $14::timestamptz, mine.id)))
INSERT INTO events (
       provider, key, id, received_at, source, key_from, type, raw_body, headers, receipt, payload, payload_note,
       occurred_at, occurred_at_missing, workflow_id, run_id, request_id, correlation_id, status, outcome, processed_at)
SELECT $1, $2, id, $4::timestamptz, $6, $7, $8, $9::bytea, $10::jsonb, $11::json, $12::jsonb, $13,
       $14::timestamptz, $15::boolean, $16, $17, $18, $19,
       CASE WHEN done THEN 'processed' ELSE 'persisted' END, CASE WHEN done THEN $25::text END,
       CASE WHEN done THEN clock_timestamp() END
  FROM fresh, (SELECT CASE count(*) WHEN cardinality($20) THEN true
                      ELSE count(*) + (SELECT count(*) FROM outdone) = cardinality($20) END FROM upserted) AS all_of_them (done)
RETURNING status`
)

// ProcessFirst does what Persist and UpsertEntities do, in one transaction and one round trip, for the common case: an event that
// nobody has seen, all of whose changes replace the state of their entities. It says how far the event is; event.Status("")
// means that nothing has happened, and so does an error. For the rest there are Persist and UpsertEntities, each with its own way
// to fail.
func (s *Store) ProcessFirst(
	ctx context.Context, r event.Receipt, body []byte, p event.Parsed, run event.Run,
) (event.Status, error) {
	status, err := s.processFirst(ctx, r, body, p, run)
	return status, failure("process event "+clean(r.ID), err)
}

func (s *Store) processFirst(
	ctx context.Context, r event.Receipt, body []byte, p event.Parsed, run event.Run,
) (status event.Status, err error) {
	if outcomeOf(p) == event.OutcomeIgnored {
		p.Changes = nil
	}
	changes, err := changesOf(r, p)
	if err != nil {
		return "", err
	}
	refs := groupByEntity(clean(r.Provider), changes).refs()
	if !replaceAll(changes, refs) {
		return "", nil
	}
	row, err := newEventRow(r, body)
	if err != nil {
		return "", err
	}
	c := newChangeColumns(changes)
	b := &pgx.Batch{}
	b.Queue(lockShortly, r.ID)
	if len(refs) > 0 {
		providers, kinds, ids := columnsOfMany(refs)
		b.Queue(lockRows, providers, kinds, ids)
	}
	b.Queue(processFirst, append(claimOf(r), clean(r.Source), string(r.KeyFrom), clean(p.Type),
		row.body, row.headers, row.receipt, row.payload, row.note, p.OccurredAt, p.OccurredAtMissing,
		clean(run.WorkflowID), clean(run.RunID), clean(r.RequestID), clean(r.CorrelationID),
		c.kinds, c.ids, c.ops, c.states, c.versions, string(outcomeOf(p)))...).
		Query(func(rows pgx.Rows) error {
			_, err := pgx.ForEachRow(rows, []any{&status}, func() error { return nil })
			return err
		})
	if err := s.sendOnly(ctx, b); err != nil {
		return "", err
	}
	return status, nil
}

// replaceAll says that each change replaces the state of an entity of its own.
func replaceAll(changes []event.OrderedChange, refs []event.EntityRef) bool {
	return len(refs) == len(changes) && !slices.ContainsFunc(changes, func(c event.OrderedChange) bool {
		return c.Change.Op == event.OpPatch
	})
}
