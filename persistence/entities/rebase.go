package entities

import (
	"context"
	"slices"

	"github.com/jackc/pgx/v5"

	"holdfast/event"
	"holdfast/persistence/postgres"
)

// Archived holds the changes of entities from the archive, in order within each event.
type Archived map[event.EntityRef][]event.OrderedChange

const (
	changesUntil = `
SELECT kind, external_id, op, change, version, occurred_at, event_id::text FROM event_entities AS l
 WHERE provider = $1 AND kind = $2 AND external_id = $3 AND ` + IsChange + `
   AND (coalesce(version::numeric, '-Infinity'), occurred_at, event_id)
    <= (coalesce($4::bigint::numeric, '-Infinity'), $5::timestamptz, $6::uuid)
 ORDER BY coalesce(version::numeric, '-Infinity'), occurred_at, l.event_id, position`

	decidedOf = `SELECT event_id::text FROM decisions WHERE event_id = ANY ($1::uuid[])`

	dropBase = `DELETE FROM entity_bases WHERE provider = $1 AND kind = $2 AND external_id = $3`

	dropBaseEvents = `DELETE FROM entity_base_events WHERE provider = $1 AND kind = $2 AND external_id = $3`

	dropAllCheckpoints = `DELETE FROM entity_checkpoints WHERE provider = $1 AND kind = $2 AND external_id = $3`

	replaceBase = `
UPDATE entities SET base_version = $4, base_at = $5, base_id = $6
 WHERE provider = $1 AND kind = $2 AND external_id = $3`
)

// rebasing is an entity whose base is rebuilt from its archived history.
type rebasing struct {
	*Life

	expunged string
	archived []event.OrderedChange
	linked   []event.OrderedChange // up to the last archived change
	decided  map[string]bool

	base   *Life
	folded []event.OrderedChange
}

// Rebase replaces the base of an entity with one built from its archived history without the expunged event, and reports
// whether it did. The entity's row must be locked, and the caller folds the entity again. The archived history may still
// contain the expunged event. It is used only if its events are exactly those whose changes purges removed. Otherwise, events
// were purged without being archived, or today's definition parses them differently, and Rebase changes nothing.
func (s *Store) Rebase(
	ctx context.Context, t *postgres.Transaction, l *Life, archived []event.OrderedChange, expunged string,
) (bool, error) {
	r := &rebasing{Life: l, expunged: expunged, decided: map[string]bool{}}
	r.archived = slices.DeleteFunc(slices.Clone(archived), func(c event.OrderedChange) bool { return c.Change.Mentions() })
	slices.SortStableFunc(r.archived, func(a, b event.OrderedChange) int { return a.Order.Compare(b.Order) })
	if !makeStored(r.archived) {
		return false, nil
	}
	if len(r.archived) > 0 {
		if err := r.read(ctx, t); err != nil {
			return false, err
		}
	}
	removed, ok := r.removed()
	if !ok {
		return false, nil
	}
	r.fold(removed)
	if err := r.base.apply(r.folded); err != nil {
		return false, err
	}
	if !fits(r.base.Entity) {
		return false, nil
	}
	delete(removed, expunged)
	now := sumOf(removed)
	now.mentions = l.purged.mentions
	l.base, l.lost, l.purged, l.isKnown = r.base.Last, event.Order{}, now, false
	b := &pgx.Batch{}
	r.queueWrites(b)
	return true, t.Send(ctx, b)
}

// makeStored converts the states of a history's changes to their stored form. It returns false if a state can't be stored: then
// this isn't the history that was purged.
func makeStored(history []event.OrderedChange) bool {
	for i, c := range history {
		state, err := postgres.StateColumn(c.Change)
		if err != nil {
			return false
		}
		history[i].Change.State = state
	}
	return true
}

func (r *rebasing) read(ctx context.Context, t *postgres.Transaction) error {
	last := r.archived[len(r.archived)-1].Order
	version, at, id := orderArgs(last)
	b := &pgx.Batch{}
	scan := func(row pgx.CollectableRow) (event.OrderedChange, error) { return ScanOrdered(row) }
	b.Queue(changesUntil, r.Provider, r.Kind, r.ExternalID, version, at, id).Query(postgres.Collect(&r.linked, scan))
	var decided string
	b.Queue(decidedOf, eventsOf(r.archived)).Query(postgres.ForEach([]any{&decided}, func() { r.decided[decided] = true }))
	return t.Send(ctx, b)
}

func eventsOf(all []event.OrderedChange) []string {
	return postgres.Column(all, func(c event.OrderedChange) string { return c.Order.EventID })
}

// removed returns the history's events whose changes are not linked any more, if they are those that purges have removed. The
// expunged event may already be missing from the archive, or its changes may have been linked until it was expunged.
func (r *rebasing) removed() (ids map[string]bool, ok bool) {
	ids = map[string]bool{}
	for _, c := range r.archived {
		ids[c.Order.EventID] = true
	}
	for _, c := range r.linked {
		delete(ids, c.Order.EventID)
	}
	if r.purged.events == nil {
		return nil, false
	}
	if sumOf(ids).isOf(r.purged) {
		return ids, true
	}
	if ids[r.expunged] {
		delete(ids, r.expunged)
	} else {
		ids[r.expunged] = true
	}
	return ids, sumOf(ids).isOf(r.purged)
}

// fold builds the base from the removed changes and the linked changes between them.
func (r *rebasing) fold(removed map[string]bool) {
	r.base = newLife(r.EntityRef)
	for _, c := range r.archived {
		if id := c.Order.EventID; removed[id] && !r.decided[id] && id != r.expunged {
			r.folded = append(r.folded, c)
		}
	}
	if len(r.folded) == 0 {
		return
	}
	end := r.folded[len(r.folded)-1].Order
	for _, c := range r.linked {
		if c.Order.EventID != r.expunged && c.Order.Compare(end) <= 0 {
			r.folded = append(r.folded, c)
		}
	}
	slices.SortStableFunc(r.folded, func(a, b event.OrderedChange) int { return a.Order.Compare(b.Order) })
	for _, c := range r.folded {
		r.base.count(c)
	}
}

func (r *rebasing) queueWrites(b *pgx.Batch) {
	b.Queue(dropAllCheckpoints, r.Provider, r.Kind, r.ExternalID)
	b.Queue(dropBase, r.Provider, r.Kind, r.ExternalID)
	b.Queue(dropBaseEvents, r.Provider, r.Kind, r.ExternalID)
	o := r.base.Last
	b.Queue(replaceBase, r.Provider, r.Kind, r.ExternalID, o.Version, orNull(o.OccurredAt), orNull(o.EventID))
	if len(r.folded) == 0 {
		return
	}
	ids := eventsOf(r.folded)
	b.Queue(writeBase, r.Provider, r.Kind, r.ExternalID, r.base.links, o.Version, o.OccurredAt, o.EventID, r.base.latest,
		string(r.base.State), r.base.Deleted, len(r.folded), slices.Min(ids), slices.Max(ids))
	queueBaseEvents(b, r.EntityRef, r.folded)
	b.Queue(forgetBaseEvents, r.Provider, r.Kind, r.ExternalID, int64(knownChanges))
}
