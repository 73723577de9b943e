package auth

import (
	"fmt"
	"slices"
	"strings"
)

// Coverage is what a scheme proves in addition to the body. Keys are made of nothing else.
type Coverage struct {
	// All means that the sender itself is authentic, and so is everything that it sends.
	All bool
	// URL means path and query.
	URL     bool
	Headers []string
	// Body lists the dotted paths covered by a signature over parts of the body; nil means all of it.
	Body []string
}

// both returns what is covered if either of two schemes may have admitted the request: the union for headers and URL, since
// keys are made of what the admitting one covers; the intersection for the body.
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

// UncoveredBody returns the paths within the body that aren't covered. Paths of a batch item have the prefix.
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

// Uncovered returns the headers, query parameters and path variables that aren't covered.
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
