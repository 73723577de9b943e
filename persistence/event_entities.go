package persistence

import (
	"github.com/jackc/pgx/v5"

	"holdfast/event"
)

// Links are replaced as a whole: what the latest parse says counts, and what an earlier one said is gone.
const (
	deleteLinks = `DELETE FROM event_entities WHERE event_id = $1::uuid`

	insertLinks = `
INSERT INTO event_entities (event_id, provider, kind, external_id, position, op, change, version, occurred_at)
SELECT $1::uuid, $2, kind, external_id, position, op, change::jsonb, version, $3::timestamptz
  FROM unnest($4::text[], $5::text[], $6::text[], $7::text[], $8::bigint[])
       WITH ORDINALITY AS change (kind, external_id, op, change, version, position)`

	isLinked = `SELECT EXISTS (SELECT FROM event_entities WHERE event_id = $1::uuid)`
)

// readHistories reads what the given entities fold from, in fold order: the last snapshot or delete and all that
// follows. The expression over version is that of the index.
const readHistories = `
SELECT l.kind, l.external_id, l.op, l.change, l.version, l.occurred_at, l.event_id::text
  FROM unnest($2::text[], $3::text[]) AS wanted (kind, external_id)
  LEFT JOIN LATERAL (
       SELECT coalesce(version::numeric, '-Infinity') AS version, occurred_at, event_id, position
         FROM event_entities
        WHERE provider = $1 AND kind = wanted.kind AND external_id = wanted.external_id AND op <> 'patch'
        ORDER BY provider DESC, kind DESC, external_id DESC, coalesce(version::numeric, '-Infinity') DESC,
                 occurred_at DESC, event_id DESC, position DESC
        LIMIT 1) AS reset ON true
  JOIN event_entities AS l
    ON l.provider = $1 AND l.kind = wanted.kind AND l.external_id = wanted.external_id
   AND (coalesce(l.version::numeric, '-Infinity'), l.occurred_at, l.event_id, l.position)
    >= (coalesce(reset.version, '-Infinity'), coalesce(reset.occurred_at, '-infinity'),
        coalesce(reset.event_id, '00000000-0000-0000-0000-000000000000'), coalesce(reset.position, 0))
 ORDER BY l.kind, l.external_id,
          coalesce(l.version::numeric, '-Infinity'), l.occurred_at, l.event_id, l.position`

// queueLinks replaces the links of an event.
func queueLinks(b *pgx.Batch, r event.Receipt, p event.Parsed, changes []event.OrderedChange) {
	b.Queue(deleteLinks, r.ID)
	queueInsertLinks(b, r, p, changes)
}

func queueInsertLinks(b *pgx.Batch, r event.Receipt, p event.Parsed, changes []event.OrderedChange) {
	if len(changes) > 0 {
		c := newChangeColumns(changes)
		b.Queue(insertLinks, r.ID, clean(r.Provider), p.OccurredAt, c.kinds, c.ids, c.ops, c.states, c.versions)
	}
}

// changeColumns are the changes of an event as arrays.
type changeColumns struct {
	kinds, ids, ops, states []string
	versions                []*int64
}

func newChangeColumns(changes []event.OrderedChange) changeColumns {
	n := len(changes)
	columns := changeColumns{
		kinds: make([]string, n), ids: make([]string, n), ops: make([]string, n), states: make([]string, n),
		versions: make([]*int64, n),
	}
	for i, c := range changes {
		columns.kinds[i], columns.ids[i], columns.ops[i] = c.Change.Kind, c.Change.ExternalID, string(c.Change.Op)
		columns.states[i], columns.versions[i] = string(c.Change.State), c.Change.Version
	}
	return columns
}

func queueIsLinked(b *pgx.Batch, r event.Receipt, linked *bool) {
	b.Queue(isLinked, r.ID).QueryRow(func(row pgx.Row) error { return row.Scan(linked) })
}

// queueHistories collects what refs fold from.
func queueHistories(
	b *pgx.Batch, provider string, refs []event.EntityRef, into map[event.EntityRef][]event.OrderedChange,
) {
	kinds, ids := columnsOf(refs)
	b.Queue(readHistories, provider, kinds, ids).Query(func(rows pgx.Rows) error {
		for rows.Next() {
			c, err := scanOrdered(rows)
			if err != nil {
				return err
			}
			ref := event.EntityRef{Provider: provider, Kind: c.Change.Kind, ExternalID: c.Change.ExternalID}
			into[ref] = append(into[ref], c)
		}
		return rows.Err()
	})
}

func scanOrdered(row pgx.Row) (c event.OrderedChange, err error) {
	err = row.Scan(&c.Change.Kind, &c.Change.ExternalID, &c.Change.Op, &c.Change.State, &c.Change.Version,
		&c.Order.OccurredAt, &c.Order.EventID)
	c.Order.Version, c.Order.OccurredAt = c.Change.Version, c.Order.OccurredAt.UTC()
	return c, err
}

// changesOf are the changes of an event as they are stored, each with its order.
func changesOf(r event.Receipt, p event.Parsed) ([]event.OrderedChange, error) {
	changes := make([]event.OrderedChange, len(p.Changes))
	for i, c := range p.Changes {
		if c.Kind == "" || c.ExternalID == "" || !isClean(c.Kind) || !isClean(c.ExternalID) {
			return nil, event.Rejectf("malformed_entity_id", "change %d has no usable kind or id", i)
		}
		state, err := stateColumn(c)
		if err != nil {
			return nil, err
		}
		c.State = state
		changes[i] = event.OrderedChange{Order: event.OrderOf(r, p, c), Change: c}
	}
	return changes, nil
}

func columnsOf(refs []event.EntityRef) (kinds, ids []string) {
	for _, ref := range refs {
		kinds, ids = append(kinds, ref.Kind), append(ids, ref.ExternalID)
	}
	return kinds, ids
}
