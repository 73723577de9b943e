package jq

import (
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/itchyny/gojq"
)

// flagPlaces has jq's functions that take a pattern first, with the place of their flags.
var flagPlaces = map[string]int{
	"test/1": 1, "match/1": 1, "capture/1": 1, "scan/1": 1, "splits/1": 1, "sub/2": 2, "gsub/2": 2,
	"test/2": 1, "match/2": 1, "capture/2": 1, "scan/2": 1, "splits/2": 1, "split/2": 1, "sub/3": 2, "gsub/3": 2,
}

// badPattern returns why a regular expression, or its flags, can't be used; "" if all can. jq would only say so once an event
// reaches it.
func badPattern(query *gojq.Query) (reason string) {
	var own []string
	walk(reflect.ValueOf(query), func(node any) {
		if def, is := node.(*gojq.FuncDef); is {
			own = append(own, fmt.Sprintf("%s/%d", def.Name, len(def.Args)))
		}
	})
	walk(reflect.ValueOf(query), func(node any) {
		call, is := node.(*gojq.Func)
		if !is || reason != "" || slices.Contains(own, signature(call)) {
			return
		}
		if flags, takes := flagPlaces[signature(call)]; takes {
			reason = badCall(call, flags)
		}
	})
	return reason
}

func badCall(call *gojq.Func, flagPlace int) string {
	pattern, isText := textOf(call.Args[0])
	if !isText {
		return fmt.Sprintf("the pattern of %s must be a string", call.Name)
	}
	flags := ""
	if len(call.Args) > flagPlace {
		flags, _ = textOf(call.Args[flagPlace]) // null means none; other flags are only known with an event
	}
	if other := strings.Trim(flags, "gim"); other != "" {
		return fmt.Sprintf("the flag %q of %s isn't supported: use g, i (upper and lower case are equal) and m (a dot is also a line "+
			"break)", other[:1], call.Name)
	}
	_, err := regexp.Compile(pattern)
	if err == nil {
		return ""
	}
	return fmt.Sprintf("the pattern %q of %s isn't valid%s", pattern, call.Name, patternReason(pattern, err))
}

// textOf returns a text that is written as it is.
func textOf(q *gojq.Query) (s string, ok bool) {
	if !isLiteral(q) || q.Term.Type != gojq.TermTypeString {
		return "", false
	}
	return q.Term.Str.Str, true
}

// unsupported lists the parts of patterns that jq supports and RE2 doesn't.
var unsupported = map[string]string{
	"(?=": "look-ahead", "(?!": "look-ahead", "(?<=": "look-behind", "(?<!": "look-behind", "(?>": "an atomic group",
}

// patternReason says where a pattern is invalid, and what it probably means.
func patternReason(pattern string, err error) string {
	var invalid *syntax.Error
	if !errors.As(err, &invalid) {
		return ": " + err.Error()
	}
	at := ""
	if i := strings.Index(pattern, invalid.Expr); i >= 0 && invalid.Code != syntax.ErrMissingParen {
		at = fmt.Sprintf(" at character %d", utf8.RuneCountInString(pattern[:i])+1)
	}
	what := ""
	for part, name := range unsupported {
		if strings.HasPrefix(invalid.Expr, part) {
			what = name
		}
	}
	if isReference(invalid.Expr) {
		what = "a reference to a group"
	}
	if what != "" {
		return fmt.Sprintf("%s: %s isn't supported (the syntax is RE2's)", at, what)
	}
	return fmt.Sprintf("%s: %s: %s", at, invalid.Code, invalid.Expr)
}

// isReference reports whether a part of a pattern refers to a group: \1 to \9, \k<name>.
func isReference(part string) bool {
	return len(part) > 1 && part[0] == '\\' && (part[1] >= '1' && part[1] <= '9' || part[1] == 'k')
}
