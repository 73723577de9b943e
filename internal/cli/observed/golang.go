package observed

import (
	"fmt"
	"go/format"
	"go/token"
	"io"
	"slices"
	"strings"

	"holdfast/event/shape"
	"holdfast/operator/api/definitionapi"
)

// writeGo writes a file with a type for each event type.
func writeGo(w io.Writer, provider string, all []definitionapi.ObservedType) error {
	var b strings.Builder
	known := names{}
	for _, t := range all {
		schema, err := schemaOf(t)
		if err != nil {
			return err
		}
		name := known.of(t.Type)
		fmt.Fprintf(&b, "\n// %s is the event type %s, from %d events.\ntype %s %s\n", name, lineOf(t.Type), t.Events, name,
			goType(&schema))
	}
	head := fmt.Sprintf("// Package %[1]s was inferred by holdfast types %[2]s --go from stored events. An event may have other\n"+
		"// fields and values.\npackage %[1]s\n", packageName(provider), lineOf(provider))
	if strings.Contains(b.String(), rawType) {
		head += "\nimport \"encoding/json\"\n"
	}
	text, err := format.Source([]byte(head + b.String()))
	if err != nil {
		return fmt.Errorf("format Go types: %w", err)
	}
	_, err = w.Write(text)
	return err
}

// packageName returns the letters and digits of a provider's name.
func packageName(provider string) string {
	name := strings.ToLower(names{}.of(provider))
	if token.IsKeyword(name) {
		name += "events"
	}
	return name
}

// rawType is what has several types, or none that is known.
const rawType = "json.RawMessage"

func goType(s *shape.Schema) string {
	kinds, isNullable := split(s.Type)
	if len(kinds) != 1 {
		return rawType
	}
	var name string
	switch kinds[0] {
	case shape.Object:
		name = objectInGo(s)
	case shape.Array:
		if s.Items == nil {
			return "[]" + rawType
		}
		return "[]" + goType(s.Items)
	default:
		name = map[shape.Kind]string{
			shape.Boolean: "bool", shape.Integer: "int64", shape.Number: "float64", shape.String: "string",
		}[kinds[0]]
	}
	if isNullable && !strings.HasPrefix(name, "map[") {
		return "*" + name
	}
	return name
}

func objectInGo(s *shape.Schema) string {
	if len(s.Properties) == 0 {
		values := rawType
		if s.Additional != nil {
			values = goType(s.Additional)
		}
		return "map[string]" + values
	}
	var b strings.Builder
	b.WriteString("struct {\n")
	known := names{}
	for _, name := range propertiesOf(s) {
		fieldType, options := goType(s.Properties[name]), ""
		if !slices.Contains(s.Required, name) {
			options = ",omitempty"
			if !strings.HasPrefix(fieldType, "*") && !isNilable(fieldType) {
				fieldType = "*" + fieldType
			}
		}
		fmt.Fprintf(&b, "%s %s `json:\"%s%s\"`\n", known.of(name), fieldType, name, options)
	}
	b.WriteString("}")
	return b.String()
}

func isNilable(goType string) bool {
	return goType == rawType || strings.HasPrefix(goType, "[]") || strings.HasPrefix(goType, "map[")
}
