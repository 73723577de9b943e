package writer

import (
	"time"

	"github.com/jackc/pgx/v5"

	"holdfast/persistence/entities"
)

// Links are replaced as a whole: the latest parse replaces all earlier ones.
const (
	deleteLinks = `DELETE FROM event_entities WHERE event_id = ANY ($1::uuid[])`

	deletePage = `DELETE FROM event_entities WHERE event_id = $1::uuid AND position = ANY ($2::integer[])`

	insertLinks = `
INSERT INTO event_entities (event_id, provider, kind, external_id, position, op, change, version, occurred_at)
SELECT event_id, provider, kind, external_id, position, op, change::jsonb, version, occurred_at
  FROM unnest($1::uuid[], $2::text[], $3::text[], $4::text[], $5::integer[], $6::text[], $7::text[], $8::bigint[],
              $9::timestamptz[])
       AS link (event_id, provider, kind, external_id, position, op, change, version, occurred_at)`
)

// queueLinks replaces the links of events whose links have changed.
func (t *transaction) queueLinks(b *pgx.Batch) {
	var gone, ids, providers, kinds, externalIDs, ops, states []string
	var positions []int32
	var versions []*int64
	var times []time.Time
	for _, w := range t.events {
		if !w.relinks() {
			continue
		}
		switch {
		case len(w.page.gone) > 0 && w.page.places != nil:
			b.Queue(deletePage, w.receipt.ID, w.page.places)
		case len(w.page.gone) > 0:
			gone = append(gone, w.receipt.ID)
		}
		for i, c := range w.page.come {
			ids, providers = append(ids, w.receipt.ID), append(providers, w.provider())
			kinds, externalIDs = append(kinds, c.Change.Kind), append(externalIDs, c.Change.ExternalID)
			positions, ops = append(positions, w.page.place(i)), append(ops, string(c.Change.Op))
			states = append(states, string(c.Change.State))
			versions, times = append(versions, c.Change.Version), append(times, c.Order.OccurredAt)
		}
	}
	if len(gone) > 0 {
		b.Queue(deleteLinks, gone)
	}
	if len(ids) > 0 {
		b.Queue(insertLinks, ids, providers, kinds, externalIDs, positions, ops, states, versions, times)
	}
}

// touches returns the touches of all events that change their links.
func (t *transaction) touches() entities.Touches {
	all := entities.Touches{}
	for _, w := range t.events {
		if !w.relinks() {
			continue
		}
		for _, l := range w.page.gone {
			of := all.Of(w.refOf(l.Change))
			of.Gone, of.IsPurged = append(of.Gone, l), w.current.status == ""
		}
		for _, c := range w.page.come {
			of := all.Of(w.refOf(c.Change))
			of.Come, of.InPages = append(of.Come, c), w.page.places != nil
		}
	}
	if t.naming != nil {
		for ref, first := range t.naming.merged {
			of := all.Of(ref)
			of.Moved, of.Merged = first, t.naming.gone[ref]
		}
	}
	return all
}

// countWithoutEffect counts the changes of an event that precede the base of their entity.
func (t *transaction) countWithoutEffect(w *eventWrite) (n int) {
	if !w.relinks() {
		return 0
	}
	for _, c := range w.page.come {
		if l := t.locked[w.refOf(c.Change)]; l != nil && l.Covers(c.Order) && !c.Change.Mentions() {
			n++
		}
	}
	return n
}
