package writer

import (
	"context"

	"github.com/jackc/pgx/v5"

	"holdfast/event"
	"holdfast/persistence/entities"
)

// defaultPageSize is Config.PageSize.
const defaultPageSize = 500

// errManyChanges reports that an event changes too many entities to share a transaction. It isn't the event's fault: its row
// and its entities are written apart.
var errManyChanges = &event.Error{
	Class: event.ClassTransient, Code: "many_entities",
	Text: "the event changes so many entities that it needs several transactions of its own",
}

// page contains the changes of an event that one transaction writes. Up to a page's size of changes, it is all of them. A larger
// event is written in pages: each transaction takes the next positions at which the stored links differ from the changes, and the
// one after which none differ finishes the event. The links are the only record of the progress, so that a retry, a reset and
// another worker go on where the last commit was. A writer never goes back, since a link may look different from its own change.
type page struct {
	come, gone []event.OrderedChange
	// positions are those of come, and places those of come and gone. Both are nil if the page is the whole event.
	positions, places []int32
	hasNext           bool
	upTo              int32 // the last of places; 0 if there is none
}

// place returns the position in the event of the change come[i].
func (p page) place(i int) int32 {
	if p.places == nil {
		return int32(i + 1)
	}
	return p.positions[i]
}

// isPaged reports whether one of the events is known to need several transactions before its links have been read.
func (t *transaction) isPaged() bool {
	return len(filter(t.events, func(w *eventWrite) bool { return t.pageSize > 0 && w.folds() && len(w.changes) > t.pageSize })) > 0
}

// choosePages decides what the transaction writes of each event. It may do so twice: once it has merged entities, their links
// may no longer differ.
func (t *transaction) choosePages() error {
	for _, w := range t.events {
		if w.choosePage(t.pageSize); !w.page.hasNext {
			continue
		}
		if err := w.decide(); err != nil { // it doesn't finish
			return err
		}
	}
	return nil
}

func (w *eventWrite) choosePage(size int) {
	switch {
	case w.isRedundant():
		w.page = page{gone: w.current.links}
	case !w.folds() || !w.owns():
	case size > 0 && max(len(w.changes), len(w.current.links)) > size:
		w.choosePositions(size)
	case !sameLinks(w.current.links, w.changes):
		w.page = page{come: w.changes, gone: w.current.links}
	}
}

// choosePositions chooses the first positions that differ, out of those that were chosen before, if any.
func (w *eventWrite) choosePositions(size int) {
	chosen := w.page.places
	p := page{places: []int32{}, hasNext: chosen != nil && w.page.hasNext, upTo: w.page.upTo}
	isCandidate := map[int32]bool{}
	for _, position := range chosen {
		isCandidate[position] = true
	}
	at, last := map[int32]event.OrderedChange{}, int32(len(w.changes))
	for i, l := range w.current.links {
		at[w.current.places[i]], last = l, max(last, w.current.places[i])
	}
	for position := w.after + 1; position <= last; position++ {
		l, isLinked := at[position]
		isWanted := int(position) <= len(w.changes)
		if chosen != nil && !isCandidate[position] || isLinked && isWanted && isSameLink(l, w.changes[position-1]) ||
			!isLinked && !isWanted {
			continue
		}
		if len(p.places) == size {
			p.hasNext = true
			break
		}
		p.places, p.upTo = append(p.places, position), position
		if isLinked {
			p.gone = append(p.gone, l)
		}
		if isWanted {
			p.come, p.positions = append(p.come, w.changes[position-1]), append(p.positions, position)
		}
	}
	w.page = p
}

// lockPages chooses the pages, and locks their entities.
func (t *transaction) lockPages(ctx context.Context) error {
	if err := t.choosePages(); err != nil {
		return err
	}
	var needs entities.Needs
	for _, w := range t.events {
		for _, c := range w.page.come {
			needs.Add(w.refOf(c.Change), c.Change)
		}
		for _, l := range w.page.gone {
			needs.Remove(w.refOf(l.Change))
		}
	}
	for _, name := range t.naming.aliases() {
		needs.Merge(name, t.naming.Root(name))
	}
	b := &pgx.Batch{}
	entities.QueueLocks(b, needs, nil, t.locked)
	return t.Send(ctx, b)
}
