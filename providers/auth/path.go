package auth

import (
	"fmt"
	"net/url"
	"strings"

	"holdfast/providers/definition"
)

// pathPrefix is the prefix of the path with the provider's name.
const pathPrefix = "/webhooks/"

// maxPathParam is in bytes.
const maxPathParam = 256

// Path is a compiled template: a segment in braces matches any value.
type Path struct {
	Template string
	segments []string
}

// newPath compiles a template such as "/webhooks/evolution/{instance}"; reason is set if it is invalid.
func newPath(template string) (p Path, params []string, reason string) {
	if !strings.HasPrefix(template, "/") || strings.ContainsAny(template, "?#% ") || template == "/" {
		return Path{}, nil, "want a path that begins with / and has neither query nor escapes"
	}
	p = Path{Template: template, segments: strings.Split(strings.Trim(template, "/"), "/")}
	for _, s := range p.segments {
		name, variable := variableOf(s)
		switch {
		case variable && name != "" && !strings.ContainsAny(name, "{}"):
			params = append(params, name)
		case s == "", s == "..", s == ".", strings.ContainsAny(s, "{}"):
			return Path{}, nil, "want whole segments, each fixed or a {variable}"
		}
	}
	return p, params, ""
}

func variableOf(segment string) (string, bool) {
	name, ok := strings.CutPrefix(segment, "{")
	if !ok {
		return "", false
	}
	return strings.CutSuffix(name, "}")
}

// Shape returns the template without the names of its variables: two paths of one shape would match the same requests.
func (p Path) Shape() string {
	out := make([]string, len(p.segments))
	for i, s := range p.segments {
		if out[i] = s; strings.HasPrefix(s, "{") {
			out[i] = "{}"
		}
	}
	return strings.Join(out, "/")
}

// Match returns the values of the variables. Escapes in them are decoded after the split, so that %2F doesn't separate
// segments.
func (p Path) Match(segments []string) (map[string]string, bool) {
	if len(segments) != len(p.segments) {
		return nil, false
	}
	var params map[string]string
	for i, want := range p.segments {
		name, variable := variableOf(want)
		if !variable {
			if segments[i] != want {
				return nil, false
			}
			continue
		}
		value, err := url.PathUnescape(segments[i])
		if err != nil || value == "" || len(value) > maxPathParam {
			return nil, false
		}
		if params == nil {
			params = map[string]string{}
		}
		params[name] = value
	}
	return params, true
}

// Fixed counts the segments that aren't variables.
func (p Path) Fixed() int {
	n := 0
	for _, s := range p.segments {
		if _, variable := variableOf(s); !variable {
			n++
		}
	}
	return n
}

// Literal returns the path without the slashes around it; ok is false if it has variables.
func (p Path) Literal() (text string, ok bool) {
	return strings.Join(p.segments, "/"), p.Fixed() == len(p.segments)
}

// NewPaths compiles templates and adds the path that every provider has. It also returns the names of their variables.
func NewPaths(p *definition.Problems, name string, templates []string) (paths []Path, params []string) {
	paths = []Path{{Template: pathPrefix + name, segments: strings.Split(strings.Trim(pathPrefix+name, "/"), "/")}}
	for i, t := range templates {
		one, variables, reason := newPath(t)
		if reason != "" {
			p.Add(fmt.Sprintf("paths[%d]", i), "%s", reason)
			continue
		}
		paths, params = append(paths, one), append(params, variables...)
	}
	return paths, params
}
