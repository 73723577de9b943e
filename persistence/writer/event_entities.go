package writer

import (
	"time"

	"github.com/jackc/pgx/v5"

	"holdfast/event"
	"holdfast/persistence/postgres"
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

// A link changes its entity or only mentions it, and there is an index for each of the two, in fold order. A statement that wants
// both has to name both, since none of the indexes serves all.
const (
	IsChange  = `(op <> 'patch' OR change <> '{}')`
	IsMention = `(op = 'patch' AND change = '{}')`
	AllLinks  = `(
       SELECT * FROM event_entities WHERE ` + IsChange + `
        UNION ALL
       SELECT * FROM event_entities WHERE ` + IsMention + `) AS l`
)

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

// ColumnsOfRefs are references as arrays, one a column.
func ColumnsOfRefs(refs []event.EntityRef) (providers, kinds, ids []string) {
	for _, ref := range refs {
		providers, kinds, ids = append(providers, ref.Provider), append(kinds, ref.Kind), append(ids, ref.ExternalID)
	}
	return providers, kinds, ids
}

// ScanOrdered scans a link as a change with its place in the order of its entity.
func ScanOrdered(row pgx.Row, more ...any) (c event.OrderedChange, err error) {
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
		if c.Kind == "" || c.ExternalID == "" || !postgres.IsClean(c.Kind) || !postgres.IsClean(c.ExternalID) {
			return nil, event.Rejectf("malformed_entity_id", "change %d has no usable kind or id", i)
		}
		state, err := postgres.StateColumn(c)
		if err != nil {
			return nil, err
		}
		c.State = state
		changes[i] = event.OrderedChange{Order: event.OrderOf(r, p, c), Change: c}
	}
	return changes, nil
}
