package writer

import (
	"context"
	"reflect"
	"slices"

	"github.com/jackc/pgx/v5"

	"holdfast/event"
	"holdfast/persistence/entities"
	"holdfast/persistence/keys"
	"holdfast/persistence/names"
	"holdfast/persistence/postgres"
)

// Reparsed is a processed event, parsed with today's definition, on its way through the writer.
type Reparsed struct {
	write     *eventWrite
	addsNames bool
}

// NewReparsed prepares everything that needs no database.
func NewReparsed(r event.Receipt, p event.Parsed) (*Reparsed, error) {
	// The row keeps its bytes and its run.
	w, err := newWrite(r, nil, p, event.Run{}, event.EntitiesOnly)
	if err != nil {
		return nil, err
	}
	w.isRebuild = true
	return &Reparsed{write: w}, nil
}

func writesOfReparsed(all []*Reparsed) []*eventWrite {
	return postgres.Column(all, func(r *Reparsed) *eventWrite { return r.write })
}

// ResolveNames gives the changes of events the IDs that their names stand for, according to the table and the events, without
// locks. It records which of the events add names.
func ResolveNames(ctx context.Context, send func(context.Context, *pgx.Batch) error, all []*Reparsed) error {
	ws := writesOfReparsed(all)
	mentioned := namesOf(ws)
	if len(mentioned) == 0 {
		return nil
	}
	known := names.NewIdentities()
	b := &pgx.Batch{}
	names.QueueKnown(b, mentioned, known)
	if err := send(ctx, b); err != nil {
		return err
	}
	joinNames(known, ws)
	rename(known, ws)
	learned := map[event.EntityRef]bool{}
	for _, name := range known.Learned() {
		learned[name] = true
	}
	for _, r := range all {
		r.addsNames = slices.ContainsFunc(namesOf([]*eventWrite{r.write}), func(name event.EntityRef) bool { return learned[name] })
	}
	return nil
}

// AddsNames reports whether the event has a name that the table can't resolve yet.
func (r *Reparsed) AddsNames() bool { return r.addsNames }

// Corrected returns the receipt with the key that the event has by today's definition; false if it is the key that it has.
func (r *Reparsed) Corrected() (event.Receipt, bool) {
	now := r.write.parsed.Identity
	if now == nil || !keys.Corrects(r.write.receipt, *now) {
		return event.Receipt{}, false
	}
	return r.write.receipt.IdentifiedAs(*now), true
}

// ID returns the event's ID, formatted as the database returns it.
func (r *Reparsed) ID() string { return r.write.receipt.ID }

// Concerns reports whether the event changes or mentions an entity of the kind.
func (r *Reparsed) Concerns(kind string) bool {
	return slices.ContainsFunc(r.write.changes, func(c event.OrderedChange) bool { return c.Change.Kind == kind })
}

// ChangesOf returns the event's changes to one entity.
func (r *Reparsed) ChangesOf(ref event.EntityRef) (changes []event.OrderedChange) {
	for _, c := range r.write.changes {
		if r.write.refOf(c.Change) == ref {
			changes = append(changes, c)
		}
	}
	return changes
}

// Differs reports whether the parse differs from the event's stored row and links.
func (r *Reparsed) Differs(row event.Record, links []event.OrderedChange) bool {
	p := r.write.parsed
	return outcomeOf(p) != row.Outcome || postgres.Clean(p.Type) != row.Type ||
		!p.OccurredAt.Truncate(event.TimePrecision).Equal(row.OccurredAt) || !reflect.DeepEqual(p.Omitted, row.Omitted) ||
		!sameLinks(links, r.write.changes)
}

// Differing returns the entities for which the event's changes differ from the links.
func (r *Reparsed) Differing(links []event.OrderedChange) (refs []event.EntityRef) {
	type sides struct{ before, after []event.OrderedChange }
	of := map[event.EntityRef]*sides{}
	side := func(c event.OrderedChange) *sides {
		ref := r.write.refOf(c.Change)
		if of[ref] == nil {
			of[ref] = &sides{}
		}
		return of[ref]
	}
	for _, l := range links {
		s := side(l)
		s.before = append(s.before, l)
	}
	for _, c := range r.write.changes {
		s := side(c)
		s.after = append(s.after, c)
	}
	for _, ref := range entities.SortedRefs(of) {
		if !sameLinks(of[ref].before, of[ref].after) {
			refs = append(refs, ref)
		}
	}
	return refs
}

// Rewritten returns the entities whose changes differ from the stored ones, as read under the event's lock, since another
// transaction may have rewritten them first. ok is false for an event that was not written.
func (r *Reparsed) Rewritten() (refs []event.EntityRef, ok bool) {
	if !r.write.owns() {
		return nil, false
	}
	return r.Differing(r.write.current.links), true
}

// Rewrite writes events as parsed today, in a transaction that has begun, and commits it together with what last queues. By then
// the caller can ask which events were rewritten.
func (s *Store) Rewrite(ctx context.Context, tx *postgres.Transaction, all []*Reparsed, last func(*pgx.Batch)) error {
	t := &transaction{
		Transaction: tx, events: writesOfReparsed(all), locked: map[event.EntityRef]*entities.Life{}, entities: s.entities,
	}
	b := &pgx.Batch{}
	t.queueReads(b, timeouts{})
	if err := t.Send(ctx, b); err != nil {
		return err
	}
	return t.finish(ctx, last)
}
