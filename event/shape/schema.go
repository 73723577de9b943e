package shape

import (
	"encoding/json"
	"maps"
	"slices"
)

// dialect is the JSON Schema that Schema follows.
const dialect = "https://json-schema.org/draft/2020-12/schema"

// Schema is an inferred JSON Schema. It has no enum, format, length or additionalProperties: false: that no event of a sample
// differs doesn't mean that none may.
type Schema struct {
	Dialect string `json:"$schema,omitempty"`
	Title   string `json:"title,omitempty"`
	// Type is one kind, or a list of several.
	Type       Types              `json:"type,omitempty"`
	Properties map[string]*Schema `json:"properties,omitempty"`
	// Required are the properties that all of 20 or more objects had.
	Required []string `json:"required,omitempty"`
	Items    *Schema  `json:"items,omitempty"`
	// Additional describes the values of an object whose names are data.
	Additional *Schema `json:"additionalProperties,omitempty"`
}

// Types are the kinds that a value may have. One is written as a text.
type Types []Kind

// MarshalJSON writes one kind as a text and several as a list.
func (t Types) MarshalJSON() ([]byte, error) {
	if len(t) == 1 {
		return json.Marshal(t[0])
	}
	return json.Marshal([]Kind(t))
}

// UnmarshalJSON reads both forms.
func (t *Types) UnmarshalJSON(text []byte) error {
	var one Kind
	if json.Unmarshal(text, &one) == nil {
		*t = Types{one}
		return nil
	}
	return json.Unmarshal(text, (*[]Kind)(t))
}

// Schema returns the schema of the events of a type.
func (s *Shape) Schema(eventType string) *Schema {
	schema := s.Root.schema()
	schema.Dialect, schema.Title = dialect, eventType
	return schema
}

func (n *node) schema() *Schema {
	schema := &Schema{Type: n.known()}
	for _, name := range slices.Sorted(maps.Keys(n.Fields)) {
		f := n.Fields[name]
		if name == anyName {
			schema.Additional = f.schema()
			continue
		}
		if schema.Properties == nil {
			schema.Properties = map[string]*Schema{}
		}
		schema.Properties[name] = f.schema()
		if f.Missing == 0 && f.count() >= enough {
			schema.Required = append(schema.Required, name)
		}
	}
	if n.Items != nil {
		schema.Items = n.Items.schema()
	}
	return schema
}
