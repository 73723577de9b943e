package eventtype

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

// Violation is a rule that an event violates. It has no value of the event.
type Violation struct {
	// Path is a JSON pointer into the event, such as /data/total.
	Path string
	// Rule is the keyword of the schema, "version" for an undeclared one, or "limit" for data that is too large to be checked.
	Rule string
}

const (
	ruleVersion = "version"
	ruleLimit   = "limit"

	// maxViolations and maxPath, in bytes, bound what is said about an event.
	maxViolations = 10
	maxPath       = 200
	// maxValues is how many values checked data can have; maxNumber bounds the length and the exponent of their numbers.
	maxValues = 50_000
	maxNumber = 1000
)

// violations returns the rules that data violates, up to maxViolations, by path. The steps that it takes are no longer left.
func (s *schema) violations(data any, left *int) (found []Violation) {
	values := maxValues
	if !isSmall(data, 1, &values) {
		return []Violation{{"", ruleLimit}}
	}
	var err error
	if !s.meter.within(left, func() { err = s.root.Validate(data) }) {
		return []Violation{{"", ruleLimit}}
	}
	if failed, ok := err.(*jsonschema.ValidationError); ok { //nolint:errorlint // the library returns it as it is
		found = collect(found, failed)
	}
	return found
}

// isSmall reports whether data can be checked within bounds. Each error has a copy of its path, hence that of the depth.
func isSmall(v any, depth int, left *int) bool {
	if *left--; *left < 0 || depth > MaxDepth {
		return false
	}
	switch v := v.(type) {
	case map[string]any:
		for _, value := range v {
			if !isSmall(value, depth+1, left) {
				return false
			}
		}
	case []any:
		for _, value := range v {
			if !isSmall(value, depth+1, left) {
				return false
			}
		}
	case json.Number:
		return isBounded(v)
	}
	return true
}

// isBounded reports whether a number can be compared exactly in little memory.
func isBounded(n json.Number) bool {
	_, exponent, ok := strings.Cut(strings.ToLower(n.String()), "e")
	if !ok {
		return len(n) <= maxNumber
	}
	e, err := strconv.Atoi(exponent)
	return err == nil && len(n) <= maxNumber && e >= -maxNumber && e <= maxNumber
}

// add keeps the first ones by path and rule, each once.
func add(found []Violation, v Violation) []Violation {
	at, known := slices.BinarySearchFunc(found, v, func(a, b Violation) int {
		return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Rule, b.Rule))
	})
	if known {
		return found
	}
	found = slices.Insert(found, at, v)
	return found[:min(len(found), maxViolations)]
}

// collect adds the innermost errors. The branches of an anyOf or a oneOf are left out: any of them could be meant.
func collect(found []Violation, e *jsonschema.ValidationError) []Violation {
	path := pointer(e.InstanceLocation)
	switch k := e.ErrorKind.(type) {
	case *kind.Schema, *kind.Group, *kind.Reference, *kind.AllOf:
		for _, cause := range e.Causes {
			found = collect(found, cause)
		}
		return found
	case *kind.Required:
		return eachField(found, path, "required", k.Missing)
	case *kind.AdditionalProperties:
		return eachField(found, path, "additionalProperties", k.Properties)
	case *kind.FalseSchema:
		return add(found, Violation{path, "false"})
	}
	rule := "$ref" // a circle of references has no keyword
	if keyword := e.ErrorKind.KeywordPath(); len(keyword) > 0 {
		rule = keyword[0]
	}
	return add(found, Violation{path, rule})
}

// eachField adds a violation for each of the fields of a value.
func eachField(found []Violation, path, rule string, fields []string) []Violation {
	for _, field := range fields {
		found = add(found, Violation{clip(path + pointer([]string{field})), rule})
	}
	return found
}

var escapeToken = strings.NewReplacer("~", "~0", "/", "~1")

func pointer(tokens []string) string {
	var b strings.Builder
	for _, token := range tokens {
		b.WriteString("/" + escapeToken.Replace(token))
	}
	return clip(b.String())
}

func clip(path string) string {
	if len(path) <= maxPath {
		return path
	}
	return strings.ToValidUTF8(path[:maxPath], "") + "…"
}

// text lists violations in one line.
func text(all []Violation) string {
	parts := make([]string, len(all))
	for i, v := range all {
		parts[i] = cmp.Or(v.Path, "/") + ": " + v.Rule
	}
	return strings.Join(parts, ", ")
}
