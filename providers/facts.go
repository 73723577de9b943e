package providers

import (
	"cmp"
	"slices"
	"time"

	"holdfast/providers/definition"
)

// Fact is something outside that a definition relies on.
type Fact = definition.Fact

// OldFacts returns the facts of all definitions that were checked more than a year ago or at an unknown time, the oldest first.
// It compares dates, and compiles nothing.
func (c *Catalogue) OldFacts(now time.Time) []Fact {
	old := []Fact{}
	for _, name := range c.Names() {
		for _, f := range c.providers[name].written.Facts() {
			if f.IsOld(now) {
				old = append(old, f)
			}
		}
	}
	slices.SortStableFunc(old, func(a, b Fact) int { return cmp.Compare(a.Checked, b.Checked) })
	return old
}
