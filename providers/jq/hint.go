package jq

import (
	"regexp"
	"slices"
	"strings"
)

var (
	undefinedFunction = regexp.MustCompile(`function not defined: (\w+)/0`)
	hyphenated        = regexp.MustCompile(`\.(headers|query|path)\.(\w+(?:-\w+)+)`)
	bareWord          = regexp.MustCompile(`^[\w-]+(?:\.[\w-]+)*$`)
	jsonPath          = regexp.MustCompile(`^\$\.?`)
)

// parts are the fields of an expression's input.
var parts = []string{"headers", "query", "path", "body"}

// hint says what the author of a source that isn't jq, or doesn't compile, probably meant; "" if that is unknown. Otherwise it
// begins with "; ".
func hint(source string, err error) string {
	named := hyphenated.FindStringSubmatch(source)
	unknown := undefinedFunction.FindStringSubmatch(err.Error())
	switch {
	case strings.HasPrefix(source, "$"):
		rest := strings.TrimPrefix(jsonPath.ReplaceAllString(source, ""), "body.")
		return "; it looks like JSONPath, write ." + strings.TrimSuffix("body."+rest, ".")
	case strings.Contains(source, "{{"):
		return "; it looks like a template, write a path such as .body.type"
	case named != nil:
		return "; - is minus in jq, write ." + named[1] + `["` + named[2] + `"]`
	case unknown == nil:
		return ""
	case slices.Contains(parts, unknown[1]):
		return "; a path begins with a dot, write ." + unknown[1]
	case bareWord.MatchString(source):
		return `; write .body.` + source + ` for a field, or '"` + source + `"' for this text`
	}
	return ""
}
