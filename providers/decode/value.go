package decode

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
)

// WriteValue writes a JSON value without what is at the paths. Equal values give equal bytes, however they were written, and
// different values different ones: fields are sorted by name, numbers have the form of CanonicalNumber, and texts are prefixed
// with their length. An object with all fields left out differs from an empty one. For PHP, which reads an empty object as an
// empty list and writes it as one, these two are equal. The error is that of w.
func WriteValue(w io.Writer, v any, without [][]string, forPHP bool) (err error) {
	switch v := v.(type) {
	case map[string]any:
		return writeFields(w, v, without, forPHP)
	case []any:
		if _, err := fmt.Fprintf(w, "[%d", len(v)); err != nil {
			return err
		}
		for _, item := range v {
			if err := WriteValue(w, item, nil, forPHP); err != nil {
				return err
			}
		}
	case string:
		_, err = fmt.Fprintf(w, `"%d:%s`, len(v), v)
	case json.Number:
		number := CanonicalNumber(v.String())
		_, err = fmt.Fprintf(w, "#%d:%s", len(number), number)
	default: // true, false and null
		_, err = fmt.Fprintf(w, "=%v;", v)
	}
	return err
}

// The encodings of an object without fields, and of one whose fields are all left out. Any other object begins with a length.
const (
	emptyObject   = "{}"
	emptiedObject = "{-}"
)

func writeFields(w io.Writer, fields map[string]any, without [][]string, forPHP bool) error {
	if len(fields) == 0 {
		if forPHP {
			return WriteValue(w, []any{}, nil, forPHP)
		}
		_, err := io.WriteString(w, emptyObject)
		return err
	}
	end := emptiedObject
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		var below [][]string
		isLeftOut := false
		for _, path := range without {
			if path[0] == name {
				isLeftOut = isLeftOut || len(path) == 1
				below = append(below, path[1:])
			}
		}
		if isLeftOut {
			continue
		}
		end = "}"
		if _, err := fmt.Fprintf(w, "{%d:%s", len(name), name); err != nil {
			return err
		}
		if err := WriteValue(w, fields[name], below, forPHP); err != nil {
			return err
		}
	}
	_, err := io.WriteString(w, end)
	return err
}
