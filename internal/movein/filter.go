package movein

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

// filter is a filter of JSON values by path, in the syntax that Convoy, Outpost and Hookdeck share: {"a": {"b": 1}}, with
// operators such as {"$gte": 1}. What it means differs: Hookdeck and Outpost use https://github.com/hookdeck/simple-json-match,
// Convoy its pkg/compare and pkg/flatten.
type filter struct {
	// root is the jq path of the filtered value.
	root string
	// of selects the rules. By Convoy's, a condition about a missing field counts only if no other condition does.
	of From
}

// jq translates a filter; "" for one that selects everything. The translation selects every event that the filter selects. A
// filter without a translation is an error.
func (f filter) jq(tree map[string]any) (string, error) {
	if f.of == Convoy {
		return f.convoy(tree)
	}
	test, err := f.objectTest(tree)
	if err != nil || test == "" {
		return "", err
	}
	return "(" + f.root + " | " + inLists(test) + ")", nil
}

// number returns jq for a value as a number, or null. Only Outpost doesn't compare "12" with 12.
func (f filter) number() string {
	if f.of == Outpost {
		return `(if type == "number" then . else null end)`
	}
	return `(if type == "number" then . elif type == "string" then (tonumber? // null) ` +
		`elif type == "boolean" then (if . then 1 else 0 end) else null end)`
}

// inLists applies a test to a value, or to each element of a list.
func inLists(test string) string {
	return "(if type == \"array\" then any(flatten[]; " + test + ") else " + test + " end)"
}

// objectTest tests an object's fields; "" for no condition.
func (f filter) objectTest(tree map[string]any) (string, error) {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(tree)) {
		if strings.HasPrefix(name, "$") {
			return "", fmt.Errorf("%s combines conditions", name)
		}
		test, err := f.fieldTest(name, tree[name])
		if err != nil {
			return "", err
		}
		all = append(all, test)
	}
	return and(all...), nil
}

func (f filter) fieldTest(name string, value any) (string, error) {
	field := ".[" + quoted(name) + "]?"
	tree, isObject := value.(map[string]any)
	if !isObject {
		test, err := f.equals(value)
		return "any(" + field + "; " + inLists(test) + ")", err
	}
	if wanted, isBool := tree["$exist"].(bool); isBool && len(tree) == 1 {
		return fmt.Sprintf("((type == \"object\" and has(%s)) == %t)", quoted(name), wanted), nil
	}
	if !hasOperator(tree) {
		test, err := f.objectTest(tree)
		if err != nil || test == "" {
			return "any(" + field + "; true)", err
		}
		return "any(" + field + "; " + inLists(test) + ")", nil
	}
	var all []string
	for _, operator := range slices.Sorted(maps.Keys(tree)) {
		test, err := f.operatorTest(operator, tree[operator])
		if err != nil {
			return "", err
		}
		all = append(all, test)
	}
	return "any(" + field + "; " + and(all...) + ")", nil
}

func hasOperator(tree map[string]any) bool {
	for name := range tree {
		if strings.HasPrefix(name, "$") {
			return true
		}
	}
	return false
}

// equals tests for a value, by number if it has one.
func (f filter) equals(value any) (string, error) {
	literal, err := literalOf(value)
	if err != nil {
		return "", err
	}
	n, isNumber := f.numberOf(value)
	if !isNumber {
		return "(. == " + literal + ")", nil
	}
	return "(. == " + literal + " or " + f.number() + " == " + n + ")", nil
}

// numberOf returns a value as a number that jq reads.
func (f filter) numberOf(value any) (text string, ok bool) {
	n, isNumber := value.(float64)
	if f.of == Outpost && !isNumber {
		return "", false
	}
	switch value := value.(type) {
	case float64:
	case bool:
		if value {
			n = 1
		}
	case string:
		var err error
		if n, err = strconv.ParseFloat(strings.TrimSpace(value), 64); err != nil || math.IsInf(n, 0) || math.IsNaN(n) {
			return "", false
		}
	default:
		return "", false
	}
	return strconv.FormatFloat(n, 'g', -1, 64), true
}

// operatorTest tests a value as an operator of simple-json-match does.
func (f filter) operatorTest(name string, value any) (string, error) {
	switch name {
	case "$eq":
		return f.equals(value)
	case "$neq":
		literal, err := literalOf(value)
		return "(. != " + literal + ")", err
	case "$gt", "$gte", "$lt", "$lte":
		return f.compared(signs[name], value)
	case "$in", "$nin":
		return memberTest(name, value)
	case "$startsWith", "$endsWith":
		text, isText := value.(string)
		if !isText {
			return "", fmt.Errorf("%s needs a text", name)
		}
		return fmt.Sprintf("(type == \"string\" and %s(%s))", strings.ToLower(name[1:]), quoted(text)), nil
	}
	return "", fmt.Errorf("nothing in Holdfast is like %s", name)
}

var signs = map[string]string{"$gt": ">", "$gte": ">=", "$lt": "<", "$lte": "<="}

// compared tests the order of a value: two texts by their characters, and everything else as numbers.
func (f filter) compared(sign string, value any) (string, error) {
	n, isNumber := f.numberOf(value)
	text, isText := value.(string)
	var tests []string
	if isText {
		tests = append(tests, fmt.Sprintf("(type == \"string\" and . %s %s)", sign, quoted(text)))
	}
	if isNumber {
		tests = append(tests, fmt.Sprintf("(%s | . != null and . %s %s)", f.number(), sign, n))
	}
	if len(tests) == 0 {
		return "", fmt.Errorf("%s compares with neither a number nor a text", sign)
	}
	_, err := literalOf(value)
	return "(" + strings.Join(tests, " or ") + ")", err
}

func memberTest(name string, value any) (string, error) {
	list, isList := value.([]any)
	if !isList || len(list) == 0 {
		return "", fmt.Errorf("%s needs a list", name)
	}
	var literals []string
	for _, one := range list {
		literal, err := literalOf(one)
		if err != nil {
			return "", err
		}
		literals = append(literals, literal)
	}
	test := "(. as $v | any((" + strings.Join(literals, ", ") + "); . == $v))"
	if name == "$nin" {
		test = "(" + test + " | not)"
	}
	return test, nil
}

// literalOf returns a value in jq. Beyond maxExact a filter's number isn't what it was written as.
func literalOf(value any) (string, error) {
	const maxExact = 1 << 53
	switch value := value.(type) {
	case map[string]any, []any:
		return "", fmt.Errorf("it compares with a list or an object")
	case float64:
		if math.Abs(value) > maxExact {
			return "", fmt.Errorf("it compares with a number above 2^53")
		}
	}
	text, err := json.Marshal(value)
	return string(text), err
}

// and joins expressions; empty ones are left out.
func and(all ...string) string {
	return strings.Join(slices.DeleteFunc(all, func(one string) bool { return one == "" }), " and ")
}
