package frame

import (
	"net/url"
	"slices"
	"strings"

	"holdfast/event"
)

// Filters are the chips above a list: {{template "chips" .Chips}}.
type Filters struct {
	// Of names what the states are of, for screen readers.
	Of     string
	States []Chip
	// Set are the other filters of the list; their links remove one.
	Set []Chip
}

// Chip is a link to a list with another filter.
type Chip struct {
	// Name is a state, or the name of a filter with its Value.
	Name, Value string
	// Path is that of the list with the filter, without the prefix.
	Path string
	// Count is how many rows have the state, like 12 or 1,000+; "" if that is unknown.
	Count string
	// Current reports that the list shows this state.
	Current bool
}

// States are the states of a list's rows.
type States struct {
	// Parameter is the query parameter that selects a state, and Names its values.
	Parameter string
	Names     []string
	// Counts may lack any of them.
	Counts event.Counts
	// Unless lists parameters that no state can be combined with.
	Unless []string
}

// NewFilters returns the chips of a list, given by its path without the prefix and its query. needs says for a parameter which
// others are invalid without it.
func NewFilters(path string, query url.Values, s States, needs map[string][]string) (chips Filters) {
	with := func(name, value string, without ...string) string {
		kept := url.Values{}
		for other := range query {
			if value := query.Get(other); value != "" && other != "cursor" && !slices.Contains(without, other) {
				kept.Set(other, value)
			}
		}
		if value != "" {
			kept.Set(name, value)
		}
		return strings.TrimSuffix(path+"?"+kept.Encode(), "?")
	}
	chips.Of = s.Parameter
	if len(s.Names) > 0 {
		current := query.Get(s.Parameter)
		without := append([]string{s.Parameter}, s.Unless...)
		chips.States = []Chip{{Name: "all", Path: with("", "", without...), Current: current == ""}}
		for _, name := range s.Names {
			chips.States = append(chips.States, Chip{
				Name: name, Path: with(s.Parameter, name, without...), Count: countText(s.Counts, name), Current: name == current,
			})
		}
	}
	for _, name := range setIn(query) {
		if name == s.Parameter {
			continue
		}
		without := append([]string{name}, needs[name]...)
		chips.Set = append(chips.Set, Chip{
			Name: strings.ReplaceAll(name, "_", " "), Value: query.Get(name), Path: with("", "", without...),
		})
	}
	return chips
}

// setIn returns the filters that a page's query sets, by name. A form sends empty fields, too.
func setIn(query url.Values) (names []string) {
	for name := range query {
		if query.Get(name) != "" && name != "cursor" && name != "limit" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// manyCounted is the number that a stopped count shows instead of a larger one.
const manyCounted = 1_000

// countText formats a count; "" for none, and for one that has stopped without a row.
func countText(counts event.Counts, state string) string {
	n, ok := counts[state]
	switch {
	case !ok || n.AtLeast && n.N == 0:
		return ""
	case !n.AtLeast:
		return Number(n.N)
	}
	return Number(min(n.N, manyCounted)) + "+"
}
