package movein

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// convoyFilter is a filter of a subscription for one event type, or * for all. RawBody is as it was written; Body has its paths.
type convoyFilter struct {
	Type    string         `json:"event_type"`
	Headers map[string]any `json:"headers"`
	Body    map[string]any `json:"body"`
	RawBody map[string]any `json:"raw_body"`
	Query   map[string]any `json:"query"`
	Path    map[string]any `json:"path"`
}

// jq translates a filter; "" for one that selects everything.
func (f convoyFilter) jq(e *Endpoint) string {
	if len(f.Headers)+len(f.Query)+len(f.Path) > 0 {
		e.hold("filter of headers, query or path", "published events have none: filter by a field of the body")
		return ""
	}
	body := f.RawBody
	if len(body) == 0 {
		body = f.Body
	}
	test, err := filter{root: ".body.data", of: Convoy}.jq(body)
	if err != nil {
		e.hold("filter", err.Error())
	}
	if test == "" || f.Type == "*" || f.Type == "" {
		return test
	}
	return "(.event.type != " + quoted(f.Type) + " or " + test + ")"
}

// convoy translates by Convoy's rules, for which an object, and a list of anything but numbers, texts and booleans, is no value.
func (f filter) convoy(tree map[string]any) (string, error) {
	var all []string
	if err := f.add(&all, f.root, tree); err != nil || len(all) == 0 {
		return "", err
	}
	return "([" + strings.Join(all, ", ") + "] | length > 0 and all)", nil
}

const noValue = `(type == "object" and . != {}) or (type == "array" and . != [] and ` +
	`(.[0] | type == "null" or type == "object" or type == "array"))`

func (f filter) add(all *[]string, path string, tree map[string]any) error {
	for _, name := range slices.Sorted(maps.Keys(tree)) {
		if strings.HasPrefix(name, "$") {
			if path == f.root {
				return fmt.Errorf("%s combines conditions", name)
			}
			test, err := f.convoyOperator(name, tree[name])
			if err != nil {
				return err
			}
			*all = append(*all, "("+path+" | "+test+")")
			continue
		}
		if err := f.addField(all, path, name, tree[name]); err != nil {
			return err
		}
	}
	return nil
}

func (f filter) addField(all *[]string, path, name string, value any) error {
	for part := range strings.SplitSeq(name, ".") {
		if _, err := strconv.Atoi(part); part == "$" || part == "" || err == nil {
			return fmt.Errorf("%q searches lists", name)
		}
		path += "[" + quoted(part) + "]?"
	}
	switch value := value.(type) {
	case map[string]any:
		return f.add(all, path, value)
	case []any:
		return fmt.Errorf("%q compares lists", name)
	}
	literal, err := literalOf(value)
	if err != nil {
		return err
	}
	test, err := f.equals(value)
	test = fmt.Sprintf("if type == \"array\" then any(.[]; . == %s) else %s end", literal, test)
	*all = append(*all, "("+path+" | if . == null or "+noValue+" then empty else "+test+" end)")
	return err
}

// convoyOperator tests a value as an operator of Convoy does. For $neq, $nin and $lt null passes.
func (f filter) convoyOperator(name string, value any) (string, error) {
	ofNull := "empty"
	var test string
	var err error
	switch name {
	case "$eq", "$neq", "$in", "$nin":
		test, err = f.operatorTest(name, value)
	case "$gt", "$gte", "$lt", "$lte":
		n, isNumber := f.numberOf(value)
		if !isNumber {
			return "", fmt.Errorf("%s doesn't compare with a number", name)
		}
		_, err = literalOf(value)
		test = fmt.Sprintf("(%s | . != null and . %s %s)", f.number(), signs[name], n)
		if name == "$lt" { // what is no number isn't at least as great
			test = fmt.Sprintf("(%s | . == null or . < %s)", f.number(), n)
		}
	default:
		return "", fmt.Errorf("nothing in Holdfast is like %s", name)
	}
	if name == "$neq" || name == "$nin" || name == "$lt" {
		ofNull = "true"
	}
	return "if . == null then " + ofNull + " elif " + noValue + " then empty else " + test + " end", err
}
