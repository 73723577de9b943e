package auth

import (
	"fmt"
	"slices"
	"strings"
)

// Coverage is what a scheme proves beside the body. A key comes from nothing else.
type Coverage struct {
	// All: the sender as such is authentic, and so is everything that it sends.
	All bool
	// URL: path and query.
	URL     bool
	Headers []string
	// Body has the dotted paths that a signature over parts of the body covers; nil where it covers all of it.
	Body []string
}

// both is what is covered where either of two schemes may have let the request in: of headers and URL what one of them covers,
// since keys are made of what the one that did covers; of the body what both do.
func (c Coverage) both(other Coverage) Coverage {
	out := Coverage{All: c.All || other.All, URL: c.URL || other.URL, Headers: append(slices.Clone(c.Headers), other.Headers...)}
	switch {
	case c.Body == nil:
		out.Body = other.Body
	case other.Body == nil:
		out.Body = c.Body
	default:
		out.Body = []string{}
		for _, path := range c.Body {
			if slices.Contains(other.Body, path) {
				out.Body = append(out.Body, path)
			}
		}
	}
	return out
}

// UncoveredBody names what is not covered of the paths within the body; those of an item of a batch stand behind the prefix.
func (c Coverage) UncoveredBody(prefix string, paths [][]string) (what []string) {
	if c.Body == nil {
		return nil
	}
	for _, path := range paths {
		full := strings.TrimPrefix(prefix+"."+strings.Join(path, "."), ".")
		if !slices.ContainsFunc(c.Body, func(covered string) bool { return full == covered }) {
			what = append(what, fmt.Sprintf("%q of the body", full))
		}
	}
	return what
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
