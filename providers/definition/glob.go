package definition

import (
	"fmt"
	"slices"
	"strings"
)

// Glob is a pattern of event types: * matches any run of characters.
type Glob []string

// NewGlob parses a pattern.
func NewGlob(pattern string) Glob { return strings.Split(pattern, "*") }

// Globs parses several patterns.
func Globs(patterns []string) []Glob {
	var globs []Glob
	for _, s := range patterns {
		globs = append(globs, NewGlob(s))
	}
	return globs
}

// Globs returns the globs of several patterns, and reports empty ones.
func (p *Problems) Globs(field string, patterns []string) []Glob {
	for i, s := range patterns {
		p.Required(fmt.Sprintf("%s[%d]", field, i), s)
	}
	return Globs(patterns)
}

// Match reports whether the pattern matches a type.
func (g Glob) Match(s string) bool {
	if len(g) == 1 {
		return s == g[0]
	}
	if !strings.HasPrefix(s, g[0]) {
		return false
	}
	s = s[len(g[0]):]
	for _, part := range g[1 : len(g)-1] {
		i := strings.Index(s, part)
		if i < 0 {
			return false
		}
		s = s[i+len(part):]
	}
	return strings.HasSuffix(s, g[len(g)-1])
}

// AnyMatch reports whether a type matches one of the globs.
func AnyMatch(globs []Glob, s string) bool {
	return slices.ContainsFunc(globs, func(g Glob) bool { return g.Match(s) })
}

// Text returns the pattern as written.
func (g Glob) Text() string { return strings.Join(g, "*") }

// covers reports whether g matches everything that other matches. The star of other can be any text, so only a star can match
// it.
func (g Glob) covers(other Glob) bool { return g.Match(other.Text()) }

// overlaps reports whether any text matches both.
func (g Glob) overlaps(other Glob) bool {
	return overlap(g.Text(), other.Text())
}

// overlap reports whether two patterns match a common text: lines[j] is the result for the rest of a and b[j:].
func overlap(a, b string) bool {
	below := make([]bool, len(b)+1)
	for i := len(a); i >= 0; i-- {
		line := make([]bool, len(b)+1)
		for j := len(b); j >= 0; j-- {
			switch {
			case i == len(a) && j == len(b):
				line[j] = true
			case i < len(a) && a[i] == '*':
				line[j] = below[j] || j < len(b) && line[j+1]
			case j < len(b) && b[j] == '*':
				line[j] = line[j+1] || i < len(a) && below[j]
			default:
				line[j] = i < len(a) && j < len(b) && a[i] == b[j] && below[j+1]
			}
		}
		below = line
	}
	return below[0]
}

// AnyOverlaps reports whether some event type matches both lists; an empty list matches every type.
func AnyOverlaps(some, others []Glob) bool {
	if len(some) == 0 || len(others) == 0 {
		return true
	}
	return slices.ContainsFunc(some, func(g Glob) bool { return slices.ContainsFunc(others, g.overlaps) })
}

// CoveredBy reports whether each of the types is matched by one of the others; an empty list matches every type. It is exact:
// what several patterns cover together one of them covers alone, since there is always another character.
func CoveredBy(types, others []Glob) bool {
	if len(others) == 0 {
		return true
	}
	return len(types) > 0 && !slices.ContainsFunc(types, func(t Glob) bool { return !AnyCovers(others, t) })
}

// AnyCovers reports whether one of the globs matches everything that t matches.
func AnyCovers(globs []Glob, t Glob) bool {
	return slices.ContainsFunc(globs, func(g Glob) bool { return g.covers(t) })
}
