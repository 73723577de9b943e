package providers

import (
	"fmt"
	"strings"
)

// glob is a pattern of event types: text in which * stands for any run of characters.
type glob []string

func (p *problems) newGlobs(field string, patterns []string) []glob {
	var globs []glob
	for i, s := range patterns {
		p.required(fmt.Sprintf("%s[%d]", field, i), s)
		globs = append(globs, strings.Split(s, "*"))
	}
	return globs
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
