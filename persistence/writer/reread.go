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

// Reread is an event that has been processed, as its definition reads it today, on its way through the writer.
type Reread struct {
	write   *write
	teaches bool
}

// NewReread prepares everything that needs no database.
func NewReread(r event.Receipt, p event.Parsed) (*Reread, error) {
	// The row keeps its bytes and its run: none is given.
	w, err := newWrite(r, nil, p, event.Run{}, entitiesOnly)
	if err != nil {
		return nil, err
	}
	w.isRebuild = true
	return &Reread{write: w}, nil
}

func writesOfReread(all []*Reread) []*write {
	ws := make([]*write, len(all))
	for i, r := range all {
		ws[i] = r.write
	}
	return ws
}

// UseNames gives the changes of events the IDs that their names stand for, by what is known and what they say, and locks nothing.
// It notes which of the events teach names.
func UseNames(ctx context.Context, send func(context.Context, *pgx.Batch) error, all []*Reread) error {
	ws := writesOfReread(all)
	said := namesOf(ws)
	if len(said) == 0 {
		return nil
	}
	known := names.NewIdentities()
	b := &pgx.Batch{}
	names.QueueKnown(b, said, known)
	if err := send(ctx, b); err != nil {
		return err
	}
	learn(known, ws)
	rename(known, ws)
	learned := map[event.EntityRef]bool{}
	for _, name := range known.Learned() {
		learned[name] = true
	}
	for _, r := range all {
		r.teaches = slices.ContainsFunc(namesOf([]*write{r.write}), func(name event.EntityRef) bool { return learned[name] })
	}
	return nil
}

// Teaches says whether an event has a name of which the table does not know yet what it stands for.
func (r *Reread) Teaches() bool { return r.teaches }

// ID is that of the event, as the database gives it back.
func (r *Reread) ID() string { return r.write.receipt.ID }

// Concerns says whether the event does something to an entity of the kind.
func (r *Reread) Concerns(kind string) bool {
	return slices.ContainsFunc(r.write.changes, func(c event.OrderedChange) bool { return c.Change.Kind == kind })
}

// ChangesOf are the changes of one entity.
func (r *Reread) ChangesOf(ref event.EntityRef) (changes []event.OrderedChange) {
	for _, c := range r.write.changes {
		if r.write.refOf(c.Change) == ref {
			changes = append(changes, c)
		}
	}
	return changes
}

// Differs says whether anything that the store keeps of a parse is not what it was, by the row and the links of the event.
func (r *Reread) Differs(row event.Record, links []event.OrderedChange) bool {
	p := r.write.parsed
	return outcomeOf(p) != row.Outcome || postgres.Clean(p.Type) != row.Type ||
		!p.OccurredAt.Truncate(event.TimePrecision).Equal(row.OccurredAt) || !sameLinks(links, r.write.changes)
}

// Differing are the entities of which the event says something else than links do.
func (r *Reread) Differing(links []event.OrderedChange) (refs []event.EntityRef) {
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

// Rewritten are the entities of which the event says something else than before, by what was found of it once it was locked:
// somebody may have been faster. It is false for an event that was not written.
func (r *Reread) Rewritten() (refs []event.EntityRef, ok bool) {
	if !r.write.owns() {
		return nil, false
	}
	return r.Differing(r.write.found.links), true
}

// Rewrite writes events as they are read today, in a transaction that has begun, and commits it together with what the caller has
// to do last, which knows what was rewritten.
func (s *Store) Rewrite(ctx context.Context, tx *postgres.Transaction, all []*Reread, last func(*pgx.Batch)) error {
	t := &writing{
		Transaction: tx, events: writesOfReread(all), held: map[event.EntityRef]*entities.Life{}, entities: s.entities,
	}
	b := &pgx.Batch{}
	t.queueLook(b)
	if err := t.Send(ctx, b); err != nil {
		return err
	}
	return t.finish(ctx, last)
}
