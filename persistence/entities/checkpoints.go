package entities

import (
	"time"

	"github.com/jackc/pgx/v5"

	"holdfast/event"
	"holdfast/persistence/postgres"
)

// linksPerCheckpoint is the number of changes between two checkpoints of an entity. Folding a change that is slightly out of
// order reads at most twice that many.
const linksPerCheckpoint = 64

const (
	lastCheckpoint = `
SELECT links, version, occurred_at, event_id::text, latest_at, state, deleted FROM entity_checkpoints
 WHERE provider = $1 AND kind = $2 AND external_id = $3
   AND (coalesce(version::numeric, '-Infinity'), occurred_at, event_id)
     < (coalesce($4::bigint::numeric, '-Infinity'), $5, $6::uuid)
 ORDER BY links DESC LIMIT 1`

	// dropCheckpoints removes invalid checkpoints, and those too close to each other for their age: see isKept.
	dropCheckpoints = `
DELETE FROM entity_checkpoints WHERE ctid = ANY (ARRAY(
       SELECT place
         FROM unnest($1::text[], $2::text[], $3::text[], $4::bigint[], $5::bigint[])
              AS d (provider, kind, external_id, above, newest)
        CROSS JOIN LATERAL (
              SELECT ctid AS place, links FROM entity_checkpoints
               WHERE provider = d.provider AND kind = d.kind AND external_id = d.external_id OFFSET 0) AS c
        WHERE links > above OR links / $6::bigint + 2 * ((links / $6) & -(links / $6)) <= newest))`

	insertCheckpoints = `
INSERT INTO entity_checkpoints (provider, kind, external_id, links, version, occurred_at, event_id, latest_at, state, deleted)
SELECT provider, kind, external_id, links, version, occurred_at, event_id, latest_at, state::jsonb, deleted
  FROM unnest($1::text[], $2::text[], $3::text[], $4::bigint[], $5::bigint[], $6::timestamptz[], $7::uuid[], $8::timestamptz[],
              $9::text[], $10::boolean[])
       AS kept (provider, kind, external_id, links, version, occurred_at, event_id, latest_at, state, deleted)`
)

func scanCheckpoint(row pgx.Row, c *checkpoint, more ...any) error {
	columns := []any{&c.links, &c.Last.Version, &c.Last.OccurredAt, &c.Last.EventID, &c.latest, &c.State, &c.Deleted}
	return row.Scan(append(columns, more...)...)
}

// queueCheckpoints removes and writes checkpoints of entities that were folded.
func queueCheckpoints(b *pgx.Batch, lives []*Life, every int64) {
	var dropped []event.EntityRef
	var above, newest []int64
	var made []checkpoint
	for _, l := range lives {
		if l.mayHaveCheckpoints(every) && (l.isGone || len(l.made) > 0 || l.above < l.before) {
			dropped = append(dropped, l.EntityRef)
			above, newest = append(above, l.above), append(newest, l.links/every)
		}
		made = append(made, l.made...)
	}
	if len(dropped) > 0 {
		providers, kinds, ids := ColumnsOfRefs(dropped)
		b.Queue(dropCheckpoints, providers, kinds, ids, above, newest, every)
	}
	if len(made) > 0 {
		b.Queue(insertCheckpoints, columnsOfCheckpoints(made)...)
	}
}

func columnsOfCheckpoints(made []checkpoint) []any {
	return []any{
		postgres.Column(made, func(c checkpoint) string { return c.Provider }),
		postgres.Column(made, func(c checkpoint) string { return c.Kind }),
		postgres.Column(made, func(c checkpoint) string { return c.ExternalID }),
		postgres.Column(made, func(c checkpoint) int64 { return c.links }),
		postgres.Column(made, func(c checkpoint) *int64 { return c.Last.Version }),
		postgres.Column(made, func(c checkpoint) time.Time { return c.Last.OccurredAt }),
		postgres.Column(made, func(c checkpoint) string { return c.Last.EventID }),
		postgres.Column(made, func(c checkpoint) time.Time { return c.latest }),
		postgres.Column(made, func(c checkpoint) string { return string(c.State) }),
		postgres.Column(made, func(c checkpoint) bool { return c.Deleted }),
	}
}
