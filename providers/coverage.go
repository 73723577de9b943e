package providers

import (
	"fmt"
	"slices"
)

// coverage is what a scheme proves beside the body. A key comes from nothing else.
type coverage struct {
	// all: the sender as such is authentic, and so is everything that it sends.
	all bool
	// url: path and query.
	url     bool
	headers []string
}

// uncovered names what is not covered of the headers, query parameters and path variables.
func (c coverage) uncovered(headers, query, path []string) (what []string) {
	if c.all {
		return nil
	}
	for _, name := range headers {
		if !slices.Contains(c.headers, name) {
			what = append(what, fmt.Sprintf("the header %q", name))
		}
	}
	if c.url {
		return what
	}
	for _, name := range append(slices.Clone(query), path...) {
		what = append(what, fmt.Sprintf("%q of query or path", name))
	}
	return what
}
