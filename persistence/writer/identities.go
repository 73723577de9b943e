package writer

import (
	"cmp"

	"holdfast/event"
	"holdfast/persistence/entities"
)

// identities are what the names of entities stand for, as far as a transaction knows. Names that are of one entity form a tree,
// whose root is the best of them: the one of the least rank, and of two the lesser text. Which tree that is does not depend on
// the order in which events tell of names, but for one case: no two names of rank 0 are one entity, so an event that says so is
// not believed, and what was known before stays.
type identities struct {
	above map[event.EntityRef]event.EntityRef // what a name stands for; the roots are not in it
	ranks map[event.EntityRef]int             // of the roots
	// said are roots whose rank an event says. It goes before that of the table, which may be of an earlier definition.
	said map[event.EntityRef]bool
	// was is what the table says.
	was map[event.EntityRef]event.EntityRef
}

func newIdentities() *identities {
	return &identities{
		above: map[event.EntityRef]event.EntityRef{}, ranks: map[event.EntityRef]int{}, was: map[event.EntityRef]event.EntityRef{},
		said: map[event.EntityRef]bool{},
	}
}

// knows takes up a row of the table.
func (i *identities) knows(name, root event.EntityRef, rank int) {
	i.above[name], i.was[name] = root, root
	i.ranks[root] = rank
}

// root is the best name of an entity.
func (i *identities) root(name event.EntityRef) event.EntityRef {
	for {
		above, is := i.above[name]
		if !is {
			return name
		}
		name = above
	}
}

// join makes names that an event has for one entity, best first, one.
func (i *identities) join(of event.EntityRef, names []event.Name) {
	var roots []event.EntityRef
	for _, n := range names {
		name := event.EntityRef{Provider: of.Provider, Kind: of.Kind, ExternalID: n.Name}
		root := i.root(name)
		if root == name && (!i.said[root] || n.Rank < i.ranks[root]) {
			i.ranks[root], i.said[root] = n.Rank, true
		}
		roots = append(roots, root)
	}
	best := roots[0]
	for _, r := range roots[1:] {
		if i.ranks[best] > 0 && cmp.Or(cmp.Compare(i.ranks[r], i.ranks[best]), cmp.Compare(r.ExternalID, best.ExternalID)) < 0 {
			best = r
		}
	}
	for _, r := range roots {
		if r != best && i.ranks[r] > 0 {
			i.above[r] = best
		}
	}
}

// lesser are all names that stand for another, in the order of locks.
func (i *identities) lesser() []event.EntityRef { return entities.SortedRefs(i.above) }

// learned are those of which the table says something else, or nothing.
func (i *identities) learned() (names []event.EntityRef) {
	for _, name := range i.lesser() {
		if i.was[name] != i.root(name) {
			names = append(names, name)
		}
	}
	return names
}

// moved are names that were no name of something else until now. Others may stand for them in the table.
func (i *identities) moved() (names []event.EntityRef) {
	for _, name := range i.lesser() {
		if _, was := i.was[name]; !was {
			names = append(names, name)
		}
	}
	return names
}
