package providers

import (
	"fmt"
	"slices"
	"strings"
)

// glob is a pattern of event types: text in which * stands for any run of characters.
type glob []string

func newGlob(pattern string) glob { return strings.Split(pattern, "*") }

func globsOf(patterns []string) []glob {
	var globs []glob
	for _, s := range patterns {
		globs = append(globs, newGlob(s))
	}
	return globs
}

func (p *problems) newGlobs(field string, patterns []string) []glob {
	for i, s := range patterns {
		p.required(fmt.Sprintf("%s[%d]", field, i), s)
	}
	return globsOf(patterns)
}

func (g glob) match(s string) bool {
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

func anyMatch(globs []glob, s string) bool {
	for _, g := range globs {
		if g.match(s) {
			return true
		}
	}
	return false
}

// text is the pattern as it was written.
func (g glob) text() string { return strings.Join(g, "*") }

// covers tells whether g matches whatever other matches. The star of other stands for any text, so that only a star can
// match it.
func (g glob) covers(other glob) bool { return g.match(other.text()) }

// overlaps tells whether there is a text that both match.
func (g glob) overlaps(other glob) bool {
	return overlap(g.text(), other.text())
}

// overlap looks whether two patterns match a common text: lines[j] says so of what is left of a and of b[j:].
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

// anyOverlaps tells whether some event type is matched by both lists; an empty list matches every type.
func anyOverlaps(some, others []glob) bool {
	if len(some) == 0 || len(others) == 0 {
		return true
	}
	for _, a := range some {
		for _, b := range others {
			if a.overlaps(b) {
				return true
			}
		}
	}
	return false
}

// coveredBy tells whether each of the types is matched by one of the others; an empty list matches every type. It is exact:
// what several patterns cover together one of them covers alone, since the alphabet has always one letter more.
func coveredBy(types, others []glob) bool {
	if len(others) == 0 {
		return true
	}
	for _, t := range types {
		if !anyCovers(others, t) {
			return false
		}
	}
	return len(types) > 0
}

func anyCovers(globs []glob, t glob) bool {
	return slices.ContainsFunc(globs, func(g glob) bool { return g.covers(t) })
}
