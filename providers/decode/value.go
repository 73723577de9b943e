package decode

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
)

// WriteValue writes a value of JSON without what stands at the paths. Equal values give equal bytes, however they were written,
// and different values different ones: fields come in the order of their names, numbers as CanonicalNumber has them, and texts
// behind their length. An empty object is an empty list, since PHP reads the one and writes the other. The error is that of w.
func WriteValue(w io.Writer, v any, without [][]string) (err error) {
	switch v := v.(type) {
	case map[string]any:
		return writeFields(w, v, without)
	case []any:
		if _, err := fmt.Fprintf(w, "[%d", len(v)); err != nil {
			return err
		}
		for _, item := range v {
			if err := WriteValue(w, item, nil); err != nil {
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

func writeFields(w io.Writer, fields map[string]any, without [][]string) error {
	isEmpty := true
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
		isEmpty = false
		if _, err := fmt.Fprintf(w, "{%d:%s", len(name), name); err != nil {
			return err
		}
		if err := WriteValue(w, fields[name], below); err != nil {
			return err
		}
	}
	if isEmpty {
		return WriteValue(w, []any{}, nil)
	}
	_, err := io.WriteString(w, "}")
	return err
}
