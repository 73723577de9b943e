package writer

import (
	"context"
	"slices"

	"github.com/jackc/pgx/v5"

	"holdfast/event"
	"holdfast/persistence/entities"
	"holdfast/persistence/names"
	"holdfast/persistence/postgres"
)

// naming resolves and merges the names of entities in a transaction whose events have names:
//
//	lock the names, and what they stand for · read what they stand for
//	join the names of each event, and give its changes the ID that they stand for
//	lock the entities, also those of aliases
//	merge each entity of an alias into the one that it stands for: move its links, and fold that one again from the
//	first of them
//	write the new names
type naming struct {
	mentioned []event.EntityRef
	locked    map[event.EntityRef]bool
	// merged maps each merge target to the first change that moved; zero if only mentions moved.
	merged map[event.EntityRef]event.Order
	// gone lists the merged entities by merge target.
	gone map[event.EntityRef][]*entities.Life
	*names.Identities
}

// queueNaming starts the naming. If no event has names it does nothing, and queues no statement.
func (t *transaction) queueNaming(b *pgx.Batch) {
	mentioned := namesOf(t.events)
	if t.naming = nil; len(mentioned) == 0 {
		return
	}
	t.naming = &naming{
		mentioned: mentioned, locked: map[event.EntityRef]bool{}, merged: map[event.EntityRef]event.Order{},
		gone: map[event.EntityRef][]*entities.Life{}, Identities: names.NewIdentities(),
	}
	names.QueueLocks(b, t.naming.mentioned, t.naming.locked, t.naming.Identities)
}

// namesOf returns all names of the events, in lock order.
func namesOf(ws []*eventWrite) []event.EntityRef {
	mentioned := map[event.EntityRef]bool{}
	for _, w := range ws {
		for _, c := range w.changes {
			for _, n := range c.Change.Names {
				mentioned[event.EntityRef{Provider: w.provider(), Kind: c.Change.Kind, ExternalID: n.Name}] = true
			}
		}
	}
	return entities.SortedRefs(mentioned)
}

// settleLinks resolves names, and chooses what the transaction writes of each event, once it is known which of the events go on.
func (t *transaction) settleLinks(ctx context.Context) error {
	if t.naming != nil {
		if err := t.name(ctx); err != nil {
			return err
		}
	}
	if t.isPaged() {
		if err := t.lockPages(ctx); err != nil {
			return err
		}
	}
	if err := t.checkLinks(ctx); err != nil {
		return err
	}
	if t.naming != nil {
		if err := t.merge(ctx); err != nil {
			return err
		}
	}
	return t.choosePages()
}

// errMoved reports that between a read and the lock that protects it, a name was repointed to another entity, or links moved.
var errMoved = &event.Error{
	Class: event.ClassTransient, Code: "entity_moved", Text: "an entity was merged into another one meanwhile",
}

// name gives the changes of events the IDs that their names stand for, and locks the entities that they touch.
func (t *transaction) name(ctx context.Context) error {
	for root := range t.naming.Known() {
		if !t.naming.locked[root] {
			return errMoved
		}
	}
	joinNames(t.naming.Identities, filter(t.events, func(w *eventWrite) bool { return w.owns() && w.folds() }))
	rename(t.naming.Identities, t.events)
	if t.isPaged() {
		return nil
	}
	b := &pgx.Batch{}
	t.queueEntityReads(b)
	return t.Send(ctx, b)
}

// joinNames joins the names that events give for one entity.
func joinNames(known *names.Identities, ws []*eventWrite) {
	for _, w := range ws {
		for _, c := range w.changes {
			if len(c.Change.Names) > 0 {
				known.Join(w.refOf(c.Change), c.Change.Names)
			}
		}
	}
}

// rename gives the changes of events the IDs that their names stand for.
func rename(known *names.Identities, ws []*eventWrite) {
	for _, w := range ws {
		for n := range w.changes {
			if c := &w.changes[n].Change; len(c.Names) > 0 {
				c.ExternalID = c.Names[0].Name // an earlier attempt may have set another one
				c.ExternalID = known.Root(w.refOf(*c)).ExternalID
			}
		}
	}
}

// merge merges entities that events created under an alias, before the better name was known.
func (t *transaction) merge(ctx context.Context) error {
	var from []*entities.Life
	for _, name := range t.naming.aliases() {
		if l := t.locked[name]; l != nil && !l.IsCollapsed() { // links can't rebuild a base, so such an entity keeps its row
			from = append(from, l)
		}
	}
	b := &pgx.Batch{}
	if len(from) > 0 {
		t.queueMerge(b, from)
	}
	names.QueueLearned(b, t.naming.Identities)
	if b.Len() == 0 {
		return nil
	}
	return t.Send(ctx, b)
}

// aliases returns all names that stand for another name.
func (n *naming) aliases() []event.EntityRef {
	if n == nil {
		return nil
	}
	return n.Aliases()
}

const (
	// moveChanges moves links, and returns the first moved link of each target.
	moveChanges = `
WITH moved AS (
     UPDATE event_entities AS l SET external_id = t.target ` + movedLinks + ` AND ` + entities.IsChange + `
  RETURNING l.provider, l.kind, l.external_id, l.version, l.occurred_at, l.event_id)
SELECT DISTINCT ON (provider, kind, external_id) provider, kind, external_id, version, occurred_at, event_id::text
  FROM moved
 ORDER BY provider, kind, external_id, coalesce(version::numeric, '-Infinity'), occurred_at, moved.event_id`

	moveMentions = `UPDATE event_entities AS l SET external_id = t.target ` + movedLinks + ` AND ` + entities.IsMention

	movedLinks = `
  FROM unnest($1::text[], $2::text[], $3::text[], $4::text[]) AS t (provider, kind, external_id, target)
 WHERE l.provider = t.provider AND l.kind = t.kind AND l.external_id = t.external_id`
)

func (t *transaction) queueMerge(b *pgx.Batch, from []*entities.Life) {
	var refs []event.EntityRef
	for _, l := range from {
		refs = append(refs, l.EntityRef)
		root := t.naming.Root(l.EntityRef)
		t.naming.merged[root] = event.Order{}
		t.naming.gone[root] = append(t.naming.gone[root], l)
		delete(t.locked, l.EntityRef)
		t.removed = append(t.removed, l.Removed())
	}
	columns := t.naming.Columns(refs)
	var to event.EntityRef
	var first event.Order
	b.Queue(moveChanges, columns[:4]...).Query(postgres.ForEach([]any{
		&to.Provider, &to.Kind, &to.ExternalID, &first.Version, &first.OccurredAt, &first.EventID,
	}, func() {
		t.naming.merged[to] = first
	}))
	b.Queue(moveMentions, columns[:4]...)
	t.entities.QueueRemoval(b, refs)
	for _, w := range t.events { // the links of the events have moved
		for i := range w.current.links {
			if c := &w.current.links[i].Change; slices.Contains(refs, w.refOf(*c)) {
				c.ExternalID = t.naming.Root(w.refOf(*c)).ExternalID
			}
		}
	}
}

// checkLinks reports whether the links that were read are still the same now that their entities are locked: a merge may
// have removed the entities. A linked entity has a row, so this rarely needs a query.
func (t *transaction) checkLinks(ctx context.Context) error {
	var ids []string
	for _, w := range t.events {
		held := w.current.links
		if w.page.places != nil {
			held = w.page.gone
		}
		if slices.ContainsFunc(held, func(l event.OrderedChange) bool { return t.locked[w.refOf(l.Change)] == nil }) {
			ids = append(ids, w.receipt.ID)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	now := map[string][]string{}
	b := &pgx.Batch{}
	QueueLinks(b, ids, func(l event.OrderedChange, _ int32) {
		now[l.Order.EventID] = append(now[l.Order.EventID], l.Change.ExternalID)
	})
	if err := t.Send(ctx, b); err != nil {
		return err
	}
	for _, w := range t.events {
		if there := now[w.receipt.ID]; slices.Contains(ids, w.receipt.ID) &&
			!slices.EqualFunc(w.current.links, there, func(l event.OrderedChange, id string) bool { return l.Change.ExternalID == id }) {
			return errMoved
		}
	}
	return nil
}
