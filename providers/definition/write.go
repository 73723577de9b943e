package definition

import (
	"maps"
	"reflect"
	"slices"

	"github.com/goccy/go-yaml"
)

// Write returns a definition as YAML in the order of the reference.
func Write(tree map[string]any) ([]byte, error) {
	return yaml.MarshalWithOptions(ordered(tree, reflect.TypeFor[Definition]()),
		yaml.UseLiteralStyleIfMultiline(true), yaml.IndentSequence(true))
}

// ordered sorts the fields of a tree in the order of the type's declaration.
func ordered(tree any, t reflect.Type) any {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch value := tree.(type) {
	case map[string]any:
		return orderedFields(value, t)
	case []any:
		list := make([]any, len(value))
		for i := range value {
			list[i] = value[i]
			if t.Kind() == reflect.Slice {
				list[i] = ordered(value[i], t.Elem())
			}
		}
		return list
	}
	return tree
}

func orderedFields(m map[string]any, t reflect.Type) yaml.MapSlice {
	var out yaml.MapSlice
	if t.Kind() != reflect.Struct {
		for _, name := range slices.Sorted(maps.Keys(m)) {
			value := m[name]
			if t.Kind() == reflect.Map {
				value = ordered(value, t.Elem())
			}
			out = append(out, yaml.MapItem{Key: name, Value: value})
		}
		return out
	}
	for _, f := range schemaFields(t) {
		if value, ok := m[f.name]; ok {
			out = append(out, yaml.MapItem{Key: f.name, Value: ordered(value, f.kind)})
		}
	}
	return out
}

type yamlField struct {
	name string
	kind reflect.Type
}

// schemaFields returns the fields of a type in the order of their declaration.
func schemaFields(t reflect.Type) []yamlField {
	var fields []yamlField
	for i := range t.NumField() {
		f := t.Field(i)
		if f.Tag.Get("yaml") == ",inline" {
			fields = append(fields, schemaFields(f.Type)...)
			continue
		}
		fields = append(fields, yamlField{name: f.Tag.Get("yaml"), kind: f.Type})
	}
	return fields
}
