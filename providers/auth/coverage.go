package auth

import (
	"fmt"
	"slices"
)

// Coverage is what a scheme proves beside the body. A key comes from nothing else.
type Coverage struct {
	// All: the sender as such is authentic, and so is everything that it sends.
	All bool
	// URL: path and query.
	URL     bool
	Headers []string
}

// Uncovered names what is not covered of the headers, query parameters and path variables.
func (c Coverage) Uncovered(headers, query, path []string) (what []string) {
	if c.All {
		return nil
	}
	for _, name := range headers {
		if !slices.Contains(c.Headers, name) {
			what = append(what, fmt.Sprintf("the header %q", name))
		}
	}
	if c.URL {
		return what
	}
	for _, name := range append(slices.Clone(query), path...) {
		what = append(what, fmt.Sprintf("%q of query or path", name))
	}
	return what
}
