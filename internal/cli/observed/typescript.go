package observed

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"holdfast/event/shape"
	"holdfast/operator/api/definitionapi"
)

// writeTypeScript writes an interface, or a type, for each event type.
func writeTypeScript(w io.Writer, provider string, all []definitionapi.ObservedType) error {
	var b strings.Builder
	fmt.Fprintf(&b, "// Inferred by holdfast types %s --typescript from stored events. An event may have other fields and values.\n"+
		"// JSON.parse rounds integers beyond 2^53.\n", lineOf(provider))
	known := names{"Array": true, "Record": true} // which the types below need
	for _, t := range all {
		schema, err := schemaOf(t)
		if err != nil {
			return err
		}
		fmt.Fprintf(&b, "\n// %s, from %d events.\nexport type %s = %s;\n", lineOf(t.Type), t.Events, known.of(t.Type),
			typeScript(&schema, ""))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func typeScript(s *shape.Schema, indent string) string {
	var types []string
	for _, k := range s.Type {
		name := map[shape.Kind]string{
			shape.Null: "null", shape.Boolean: "boolean", shape.Integer: "number", shape.Number: "number", shape.String: "string",
		}[k]
		switch {
		case k == shape.Object:
			name = objectInTypeScript(s, indent)
		case k == shape.Array && s.Items == nil:
			name = "unknown[]"
		case k == shape.Array:
			name = "Array<" + typeScript(s.Items, indent) + ">"
		}
		types = append(types, name)
	}
	if len(types) == 0 {
		return "unknown"
	}
	return strings.Join(types, " | ")
}

func objectInTypeScript(s *shape.Schema, indent string) string {
	if len(s.Properties) == 0 {
		values := "unknown"
		if s.Additional != nil {
			values = typeScript(s.Additional, indent)
		}
		return "Record<string, " + values + ">"
	}
	var b strings.Builder
	b.WriteString("{\n")
	for _, name := range propertiesOf(s) {
		mark := "?"
		if slices.Contains(s.Required, name) {
			mark = ""
		}
		fmt.Fprintf(&b, "%s  %s%s: %s;\n", indent, strconv.Quote(name), mark, typeScript(s.Properties[name], indent+"  "))
	}
	b.WriteString(indent + "}")
	return b.String()
}
