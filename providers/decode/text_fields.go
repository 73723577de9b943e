package decode

import (
	"encoding/json"
	"errors"
)

// maxTextFields, in bytes, limits a body whose fields are read as a whole before it is authenticated.
const maxTextFields = 64 << 10

var errNotFlat = errors.New("not an object of texts")

// TextFields returns the fields of the object at a path of an unauthenticated body: numbers as they are written, true and false
// as words, and null as "". It refuses a larger body, a repeated field anywhere, and a field that is an object or a list.
func TextFields(body []byte, path []string) (map[string]string, error) {
	if len(body) > maxTextFields {
		return nil, errNotFlat
	}
	at, err := JSONUnambiguously(body)
	if err != nil {
		return nil, err
	}
	for _, name := range path {
		fields, _ := at.(map[string]any)
		at = fields[name]
	}
	fields, ok := at.(map[string]any)
	if !ok {
		return nil, errNotFlat
	}
	texts := make(map[string]string, len(fields))
	for name, value := range fields {
		switch value := value.(type) {
		case nil:
			texts[name] = ""
		case string:
			texts[name] = value
		case json.Number:
			texts[name] = value.String()
		case bool:
			texts[name] = map[bool]string{true: "true", false: "false"}[value]
		default:
			return nil, errNotFlat
		}
	}
	return texts, nil
}
