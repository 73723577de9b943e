package names

import (
	"cmp"
	"iter"
	"maps"

	"holdfast/event"
	"holdfast/persistence/entities"
)

// Identities are what the names of entities stand for, as far as a transaction knows. Names that are of one entity form a tree,
// whose root is the best of them: the one of the least rank, and of two the lesser text. Which tree that is does not depend on
// the order in which events tell of names, but for one case: no two names of rank 0 are one entity, so an event that says so is
// not believed, and what was known before stays.
type Identities struct {
	above map[event.EntityRef]event.EntityRef // what a name stands for; the roots are not in it
	ranks map[event.EntityRef]int             // of the roots
	// said are roots whose rank an event says. It goes before that of the table, which may be of an earlier definition.
	said map[event.EntityRef]bool
	// was is what the table says.
	was map[event.EntityRef]event.EntityRef
}

// NewIdentities knows nothing: every name stands for itself.
func NewIdentities() *Identities {
	return &Identities{
		above: map[event.EntityRef]event.EntityRef{}, ranks: map[event.EntityRef]int{}, was: map[event.EntityRef]event.EntityRef{},
		said: map[event.EntityRef]bool{},
	}
}

// knows takes up a row of the table.
func (i *Identities) knows(name, root event.EntityRef, rank int) {
	i.above[name], i.was[name] = root, root
	i.ranks[root] = rank
}

// Root is the best name of an entity.
func (i *Identities) Root(name event.EntityRef) event.EntityRef {
	for {
		above, is := i.above[name]
		if !is {
			return name
		}
		name = above
	}
}

// Known are what names stand for by the table.
func (i *Identities) Known() iter.Seq[event.EntityRef] { return maps.Values(i.was) }

// Join makes names that an event has for one entity, best first, one.
func (i *Identities) Join(of event.EntityRef, names []event.Name) {
	var roots []event.EntityRef
	for _, n := range names {
		name := event.EntityRef{Provider: of.Provider, Kind: of.Kind, ExternalID: n.Name}
		root := i.Root(name)
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

// Lesser are all names that stand for another, in the order of locks.
func (i *Identities) Lesser() []event.EntityRef { return entities.SortedRefs(i.above) }

// Learned are those of which the table says something else, or nothing.
func (i *Identities) Learned() (names []event.EntityRef) {
	for _, name := range i.Lesser() {
		if i.was[name] != i.Root(name) {
			names = append(names, name)
		}
	}
	return names
}

// moved are names that were no name of something else until now. Others may stand for them in the table.
func (i *Identities) moved() (names []event.EntityRef) {
	for _, name := range i.Lesser() {
		if _, was := i.was[name]; !was {
			names = append(names, name)
		}
	}
	return names
}

// Columns are names with what they stand for.
func (i *Identities) Columns(names []event.EntityRef) []any {
	providers, kinds, ids := entities.ColumnsOfRefs(names)
	roots, ranks := make([]string, len(names)), make([]int16, len(names))
	for n, name := range names {
		root := i.Root(name)
		roots[n], ranks[n] = root.ExternalID, int16(i.ranks[root])
	}
	return []any{providers, kinds, ids, roots, ranks}
}
