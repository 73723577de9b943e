package fold

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"holdfast/event"
)

// EntityDiff describes how a rebuild would change an entity.
type EntityDiff struct {
	event.EntityRef
	// TooLong: the entity has too many changes to compute a diff; no other field is set.
	TooLong bool `json:"too_long,omitempty"`
	// Fields lists the differences, ordered by path. It is empty if the events changed but the result didn't.
	Fields []FieldDiff `json:"fields"`
}

// FieldDiff is a changed field of an entity.
type FieldDiff struct {
	// Path is a JSON pointer (RFC 6901) into the state, or "deleted".
	Path string `json:"path"`
	// Old and New are absent where the field is missing.
	Old json.RawMessage `json:"old,omitempty"`
	New json.RawMessage `json:"new,omitempty"`
}

// Diff compares two states of an entity field by field. An array counts as one field.
func Diff(before, after event.Entity) ([]FieldDiff, error) {
	x, err := decodeExact(orEmpty(before.State))
	if err != nil {
		return nil, err
	}
	y, err := decodeExact(orEmpty(after.State))
	if err != nil {
		return nil, err
	}
	fields, err := diffValues([]FieldDiff{}, "", x, y)
	if before.Deleted != after.Deleted {
		fields = append(fields, FieldDiff{Path: "deleted", Old: boolean(before.Deleted), New: boolean(after.Deleted)})
	}
	return fields, err
}

func orEmpty(state json.RawMessage) json.RawMessage {
	if len(state) == 0 {
		return emptyState()
	}
	return state
}

func boolean(b bool) json.RawMessage {
	if b {
		return json.RawMessage("true")
	}
	return json.RawMessage("false")
}

// missing marks an absent field.
type missing struct{}

func diffValues(fields []FieldDiff, path string, before, after any) (_ []FieldDiff, err error) {
	x, isObject := before.(map[string]any)
	y, areObjects := after.(map[string]any)
	if areObjects = isObject && areObjects; !areObjects {
		return diffLeaves(fields, path, before, after)
	}
	names := slices.Collect(maps.Keys(x))
	for name := range y {
		if _, ok := x[name]; !ok {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		if fields, err = diffValues(fields, path+"/"+pointerTo(name), fieldOf(x, name), fieldOf(y, name)); err != nil {
			return nil, err
		}
	}
	return fields, nil
}

func diffLeaves(fields []FieldDiff, path string, before, after any) ([]FieldDiff, error) {
	was, err := encodeField(before)
	if err != nil {
		return nil, err
	}
	is, err := encodeField(after)
	if err != nil || bytes.Equal(was, is) {
		return fields, err
	}
	return append(fields, FieldDiff{Path: path, Old: was, New: is}), nil
}

func fieldOf(object map[string]any, name string) any {
	if v, ok := object[name]; ok {
		return v
	}
	return missing{}
}

func encodeField(v any) (json.RawMessage, error) {
	if _, ok := v.(missing); ok {
		return nil, nil
	}
	return encodeExact(v)
}

var escapePointer = strings.NewReplacer("~", "~0", "/", "~1")

func pointerTo(name string) string { return escapePointer.Replace(name) }
