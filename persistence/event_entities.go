package persistence

import (
	"time"

	"github.com/jackc/pgx/v5"

	"holdfast/event"
)

// Links are replaced as a whole: what the latest parse says counts, and what an earlier one said is gone.
const (
	deleteLinks = `DELETE FROM event_entities WHERE event_id = ANY ($1::uuid[])`

	insertLinks = `
INSERT INTO event_entities (event_id, provider, kind, external_id, position, op, change, version, occurred_at)
SELECT event_id, provider, kind, external_id, position, op, change::jsonb, version, occurred_at
  FROM unnest($1::uuid[], $2::text[], $3::text[], $4::text[], $5::integer[], $6::text[], $7::text[], $8::bigint[],
              $9::timestamptz[])
       AS link (event_id, provider, kind, external_id, position, op, change, version, occurred_at)`
)

// readHistories reads what the given entities fold from, in fold order: the last snapshot or delete and all that
// follows. The expression over version is that of the index.
const readHistories = `
SELECT l.kind, l.external_id, l.op, l.change, l.version, l.occurred_at, l.event_id::text, l.provider
  FROM unnest($1::text[], $2::text[], $3::text[]) AS wanted (provider, kind, external_id)
  LEFT JOIN LATERAL (
       SELECT coalesce(version::numeric, '-Infinity') AS version, occurred_at, event_id, position
         FROM event_entities
        WHERE provider = wanted.provider AND kind = wanted.kind AND external_id = wanted.external_id AND op <> 'patch'
        ORDER BY provider DESC, kind DESC, external_id DESC, coalesce(version::numeric, '-Infinity') DESC,
                 occurred_at DESC, event_id DESC, position DESC
        LIMIT 1) AS reset ON true
  JOIN event_entities AS l
    ON l.provider = wanted.provider AND l.kind = wanted.kind AND l.external_id = wanted.external_id
   AND (coalesce(l.version::numeric, '-Infinity'), l.occurred_at, l.event_id, l.position)
    >= (coalesce(reset.version, '-Infinity'), coalesce(reset.occurred_at, '-infinity'),
        coalesce(reset.event_id, '00000000-0000-0000-0000-000000000000'), coalesce(reset.position, 0))
 ORDER BY l.provider, l.kind, l.external_id,
          coalesce(l.version::numeric, '-Infinity'), l.occurred_at, l.event_id, l.position`

// queueLinks replaces the links of the events that have others now.
func (t *writing) queueLinks(b *pgx.Batch) {
	var gone, ids, providers, kinds, externalIDs, ops, states []string
	var positions []int32
	var versions []*int64
	var times []time.Time
	for _, w := range t.events {
		if !w.relinks() {
			continue
		}
		if len(w.found.links) > 0 {
			gone = append(gone, w.receipt.ID)
		}
		for i, c := range w.changes {
			ids, providers = append(ids, w.receipt.ID), append(providers, w.provider())
			kinds, externalIDs = append(kinds, c.Change.Kind), append(externalIDs, c.Change.ExternalID)
			positions, ops = append(positions, int32(i+1)), append(ops, string(c.Change.Op))
			states = append(states, string(c.Change.State))
			versions, times = append(versions, c.Change.Version), append(times, w.parsed.OccurredAt)
		}
	}
	if len(gone) > 0 {
		b.Queue(deleteLinks, gone)
	}
	if len(ids) > 0 {
		b.Queue(insertLinks, ids, providers, kinds, externalIDs, positions, ops, states, versions, times)
	}
}

// queueHistories collects what refs fold from.
func queueHistories(b *pgx.Batch, refs []event.EntityRef, into changesByEntity) {
	providers, kinds, ids := columnsOfRefs(refs)
	b.Queue(readHistories, providers, kinds, ids).Query(func(rows pgx.Rows) error { return collectHistories(rows, into) })
}

func collectHistories(rows pgx.Rows, into changesByEntity) error {
	defer rows.Close()
	for rows.Next() {
		var provider string
		c, err := scanOrdered(rows, &provider)
		if err != nil {
			return err
		}
		ref := event.EntityRef{Provider: provider, Kind: c.Change.Kind, ExternalID: c.Change.ExternalID}
		into[ref] = append(into[ref], c)
	}
	return rows.Err()
}

func columnsOfRefs(refs []event.EntityRef) (providers, kinds, ids []string) {
	for _, ref := range refs {
		providers, kinds, ids = append(providers, ref.Provider), append(kinds, ref.Kind), append(ids, ref.ExternalID)
	}
	return providers, kinds, ids
}

func scanOrdered(row pgx.Row, more ...any) (c event.OrderedChange, err error) {
	columns := []any{
		&c.Change.Kind, &c.Change.ExternalID, &c.Change.Op, &c.Change.State, &c.Change.Version,
		&c.Order.OccurredAt, &c.Order.EventID,
	}
	err = row.Scan(append(columns, more...)...)
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
