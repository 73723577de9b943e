package infer

import (
	"maps"
	"slices"
)

// listNames are names of lists of events.
var listNames = []string{"events", "notifications", "entry", "notificationitems", "webhookevents", "records"}

// batchOf returns the path to the events of a batch, and the first of them; nil if the body is an event itself. A list of events
// is a list of objects that each say their type, in a body that doesn't.
func batchOf(body any) (items string, first map[string]any) {
	if list, ok := body.([]any); ok {
		return ".", firstObject(list)
	}
	object, ok := body.(map[string]any)
	if !ok || hasType(object) {
		return "", nil
	}
	for _, name := range slices.Sorted(maps.Keys(object)) {
		list, _ := object[name].([]any)
		isList := slices.Contains(listNames, plain(name))
		if event := firstObject(list); event != nil && (isList || hasType(event)) && simpleName.MatchString(name) {
			return name, event
		}
	}
	return "", nil
}

func firstObject(list []any) map[string]any {
	if len(list) == 0 {
		return nil
	}
	object, _ := list[0].(map[string]any)
	return object
}

// hasType reports whether a field of the object itself is likely to be a type.
func hasType(object map[string]any) bool {
	var fields []field
	for name, value := range object {
		fields = append(fields, field{names: []string{name}, value: value})
	}
	for i := range fields {
		f := &fields[i]
		if f.typeScore() >= likely || inTwoParts(f, fields) != nil {
			return true
		}
	}
	return false
}
