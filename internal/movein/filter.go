package movein

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// filter is a filter of JSON values by path, in the syntax that Convoy, Outpost and Hookdeck share: {"a": {"b": 1}}, with
// operators such as {"$gte": 1}.
type filter struct {
	// root is the jq path of the filtered value.
	root string
	// missingPasses is Convoy's rule: a condition about a missing field counts only if no other condition does.
	missingPasses bool
}

// operators compare with a value.
var operators = map[string]string{"$eq": "==", "$neq": "!=", "$gt": ">", "$gte": ">=", "$lt": "<", "$lte": "<="}

// jq translates a filter; "" for one that selects everything. What can't be translated exactly is an error.
func (f filter) jq(tree map[string]any) (string, error) {
	var all []string
	if err := f.add(&all, f.root, tree); err != nil || len(all) == 0 {
		return "", err
	}
	if !f.missingPasses {
		return strings.Join(all, " and "), nil
	}
	return "([" + strings.Join(all, ", ") + "] | length > 0 and all)", nil
}

func (f filter) add(all *[]string, path string, tree map[string]any) error {
	for _, name := range slices.Sorted(maps.Keys(tree)) {
		if strings.HasPrefix(name, "$") {
			test, err := f.operator(path, name, tree[name])
			if err != nil {
				return err
			}
			*all = append(*all, f.condition(path, test))
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
		if part == "$" || part == "" {
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
	*all = append(*all, f.condition(path, fmt.Sprintf("(. == %s or (type == \"array\" and any(.[]; . == %[1]s)))", literal)))
	return err
}

// condition applies a test to the value at a path.
func (f filter) condition(path, test string) string {
	if f.missingPasses {
		return "(" + path + " | if . == null then empty else " + test + " end)"
	}
	return "(" + path + " | " + test + ")"
}

func (f filter) operator(path, name string, value any) (string, error) {
	if path == f.root {
		return "", fmt.Errorf("%s combines conditions", name)
	}
	if sign, ok := operators[name]; ok {
		literal, err := literalOf(value)
		if err != nil || name == "$eq" || name == "$neq" {
			return ". " + sign + " " + literal, err
		}
		return fmt.Sprintf("(type == (%s | type) and . %s %[1]s)", literal, sign), nil
	}
	switch name {
	case "$in", "$nin":
		list, isList := value.([]any)
		if !isList {
			return "", fmt.Errorf("%s has no list", name)
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
	case "$startsWith", "$endsWith":
		text, isText := value.(string)
		if !isText {
			return "", fmt.Errorf("%s has no text", name)
		}
		return fmt.Sprintf("(type == \"string\" and %s(%s))", strings.ToLower(name[1:]), quoted(text)), nil
	case "$exist":
		if wanted, isBool := value.(bool); isBool && !f.missingPasses {
			return fmt.Sprintf("((. != null) == %t)", wanted), nil
		}
	}
	return "", fmt.Errorf("there is no equivalent of %s", name)
}

func literalOf(value any) (string, error) {
	switch value.(type) {
	case map[string]any, []any:
		return "", fmt.Errorf("it compares with a list or an object")
	}
	text, err := json.Marshal(value)
	return string(text), err
}

// and joins expressions; empty ones are left out.
func and(all ...string) string {
	return strings.Join(slices.DeleteFunc(all, func(one string) bool { return one == "" }), " and ")
}
