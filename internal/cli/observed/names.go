package observed

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"holdfast/event/shape"
	"holdfast/operator/api/definitionapi"
)

// names gives each of some texts an identifier of its own.
type names map[string]bool

// of returns a text as an exported identifier: "invoice.line_id" is InvoiceLineID.
func (n names) of(text string) string {
	var b strings.Builder
	for _, part := range strings.FieldsFunc(text, func(r rune) bool { return !isIdentifier(r) }) {
		switch lower := strings.ToLower(part); lower {
		case "id", "url", "uuid", "api", "ip":
			b.WriteString(strings.ToUpper(part))
		default:
			b.WriteString(strings.ToUpper(part[:1]) + part[1:])
		}
	}
	name := b.String()
	if name == "" || unicode.IsDigit(rune(name[0])) {
		name = "X" + name
	}
	unique := name
	for i := 2; n[unique]; i++ {
		unique = name + strconv.Itoa(i)
	}
	n[unique] = true
	return unique
}

func isIdentifier(r rune) bool {
	return r < unicode.MaxASCII && (unicode.IsLetter(r) || unicode.IsDigit(r))
}

// schemaOf decodes the schema of a type.
func schemaOf(t definitionapi.ObservedType) (schema shape.Schema, err error) {
	if err := json.Unmarshal(t.Schema, &schema); err != nil {
		return schema, fmt.Errorf("read schema of %s: %w", t.Type, err)
	}
	return schema, nil
}

func propertiesOf(s *shape.Schema) []string { return slices.Sorted(maps.Keys(s.Properties)) }

// split returns the kinds without null, and whether there was one.
func split(kinds []shape.Kind) (others []shape.Kind, isNullable bool) {
	others = slices.DeleteFunc(slices.Clone(kinds), func(k shape.Kind) bool { return k == shape.Null })
	return others, len(others) < len(kinds)
}

// lineOf makes a text safe in a comment.
func lineOf(text string) string { return strings.Trim(strconv.QuoteToASCII(text), `"`) }
