package names

import (
	"cmp"
	"iter"
	"maps"

	"holdfast/event"
	"holdfast/persistence/entities"
)

// Identities maps the names of entities to what they stand for, as far as a transaction has read them. Names of one entity form a
// tree, whose root is the best of them: the one of the lowest rank, and of two the lesser text. The tree doesn't depend on the
// order in which events give names, except in one case: two names of rank 0 are never one entity, so an event that joins them is
// ignored, and the earlier names stay.
type Identities struct {
	above map[event.EntityRef]event.EntityRef // name to what it stands for; roots have no entry
	ranks map[event.EntityRef]int             // of roots
	// ranked holds the roots whose rank an event gives. That rank overrides the table's, which may be of an earlier definition.
	ranked map[event.EntityRef]bool
	// was contains the rows of the table.
	was map[event.EntityRef]event.EntityRef
}

// NewIdentities returns empty Identities: every name stands for itself.
func NewIdentities() *Identities {
	return &Identities{
		above: map[event.EntityRef]event.EntityRef{}, ranks: map[event.EntityRef]int{}, was: map[event.EntityRef]event.EntityRef{},
		ranked: map[event.EntityRef]bool{},
	}
}

// add records a row of the table.
func (i *Identities) add(name, root event.EntityRef, rank int) {
	i.above[name], i.was[name] = root, root
	i.ranks[root] = rank
}

// Root returns the best name of an entity.
func (i *Identities) Root(name event.EntityRef) event.EntityRef {
	for {
		above, is := i.above[name]
		if !is {
			return name
		}
		name = above
	}
}

// Known returns what the names stand for in the table.
func (i *Identities) Known() iter.Seq[event.EntityRef] { return maps.Values(i.was) }

// Join joins the names that an event gives for one entity, best first.
func (i *Identities) Join(of event.EntityRef, names []event.Name) {
	var roots []event.EntityRef
	for _, n := range names {
		name := event.EntityRef{Provider: of.Provider, Kind: of.Kind, ExternalID: n.Name}
		root := i.Root(name)
		if root == name && (!i.ranked[root] || n.Rank < i.ranks[root]) {
			i.ranks[root], i.ranked[root] = n.Rank, true
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

// Aliases returns all names that stand for another, in lock order.
func (i *Identities) Aliases() []event.EntityRef { return entities.SortedRefs(i.above) }

// Learned returns the names that are missing in the table, or stand for something else there.
func (i *Identities) Learned() (names []event.EntityRef) {
	for _, name := range i.Aliases() {
		if i.was[name] != i.Root(name) {
			names = append(names, name)
		}
	}
	return names
}

// moved returns the names that stood for nothing else until now. Others may stand for them in the table.
func (i *Identities) moved() (names []event.EntityRef) {
	for _, name := range i.Aliases() {
		if _, was := i.was[name]; !was {
			names = append(names, name)
		}
	}
	return names
}

// Columns returns names and what they stand for, as arrays.
func (i *Identities) Columns(names []event.EntityRef) []any {
	providers, kinds, ids := entities.ColumnsOfRefs(names)
	roots, ranks := make([]string, len(names)), make([]int16, len(names))
	for n, name := range names {
		root := i.Root(name)
		roots[n], ranks[n] = root.ExternalID, int16(i.ranks[root])
	}
	return []any{providers, kinds, ids, roots, ranks}
}
