package recovery

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"holdfast/providers/definition"
)

// The variables of a walk. Names of secrets are in upper case.
const (
	varFrom   = "from"
	varTo     = "to"
	varCursor = "cursor"
	varTarget = "target"
)

var (
	variablePattern = regexp.MustCompile(`\{([^{}]*)\}`)
	secretPattern   = regexp.MustCompile(`^[A-Z][A-Z0-9_]*$`)
)

// template is text with {variables}.
type template string

// newTemplate reports variables that aren't allowed here. Names of secrets are allowed with secrets.
func newTemplate(p *definition.Problems, field, text string, secrets bool, allowed ...string) template {
	for _, name := range template(text).variables() {
		switch {
		case slices.Contains(allowed, name) && name != varItem, slices.Contains(allowed, varItem) && isItem(name):
		case secrets && secretPattern.MatchString(name):
		case secretPattern.MatchString(name):
			p.Add(field, "{%s} would put a secret into the URL: use api.headers", name)
		default:
			p.Add(field, "{%s} is unknown: use one of %s", name, strings.Join(described(secrets, allowed), ", "))
		}
	}
	return template(text)
}

func described(secrets bool, allowed []string) (names []string) {
	for _, name := range allowed {
		if name == varItem {
			name += ".PATH"
		}
		names = append(names, "{"+name+"}")
	}
	if secrets {
		names = append(names, "{NAME_OF_A_SECRET}")
	}
	return names
}

func (t template) variables() (names []string) {
	for _, found := range variablePattern.FindAllStringSubmatch(string(t), -1) {
		names = append(names, found[1])
	}
	return names
}

func (t template) secrets() []string {
	return slices.DeleteFunc(t.variables(), func(name string) bool { return !secretPattern.MatchString(name) })
}

func (t template) uses(name string) bool { return slices.Contains(t.variables(), name) }

// fill replaces the variables with their escaped values. ok is false if one of them is missing.
func (t template) fill(value func(name string) string, escape func(name, value string) string) (text string, ok bool) {
	ok = true
	text = variablePattern.ReplaceAllStringFunc(string(t), func(found string) string {
		name := found[1 : len(found)-1]
		v := value(name)
		ok = ok && v != ""
		return escape(name, v)
	})
	return text, ok
}

func verbatim(_, value string) string { return value }

// targetPattern allows several segments of a path: a repository has a name with a slash.
var targetPattern = regexp.MustCompile(`^[A-Za-z0-9._~:@-]+(/[A-Za-z0-9._~:@-]+)*$`)

const maxTarget = 200

// CheckTarget refuses a target that could change more of the URL than its place in the path.
func CheckTarget(target string) error {
	segments := strings.Split(target, "/")
	if target == "" || len(target) <= maxTarget && targetPattern.MatchString(target) &&
		!slices.Contains(segments, ".") && !slices.Contains(segments, "..") {
		return nil
	}
	return fmt.Errorf("invalid target %q: use letters, digits and . _ ~ : @ -, in segments with a slash between them", target)
}
