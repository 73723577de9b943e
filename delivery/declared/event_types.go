package declared

import (
	"bytes"
	"encoding/json"

	"holdfast/event/eventtype"
)

// PlanEventTypes compares event types by name, as PlanOf does.
func PlanEventTypes(wanted, stored map[string]eventtype.EventType, prune bool) (p Plan, err error) {
	p.Changes = []Change{}
	if prune && len(wanted) == 0 {
		return p, ErrNothingDeclared
	}
	for _, name := range sorted(wanted) {
		before, known := stored[name]
		p.add(KindEventType, name, known, eventTypeFields(before), eventTypeFields(wanted[name]))
	}
	addRest(&p, KindEventType, stored, wanted, prune)
	return p, nil
}

// eventTypeFields returns the fields of a type as JSON, by path. A schema is one field: an empty one within it has a meaning.
func eventTypeFields(t eventtype.EventType) map[string]json.RawMessage {
	fields := map[string]json.RawMessage{}
	add := func(field string, value any, isEmpty bool) {
		if text, err := plainJSON(value); err == nil && !isEmpty {
			fields[field] = text
		}
	}
	add("description", t.Description, t.Description == "")
	add("check", t.Check, t.Check == "")
	for number, v := range t.Versions {
		at := "versions." + number + "."
		add(at+"schema", compacted(v.Schema), v.Schema == nil)
		add(at+"example", compacted(v.Example), v.Example == nil)
		add(at+"deprecated", v.Deprecated, !v.Deprecated)
	}
	return fields
}

// compacted leaves out spaces, which mean nothing.
func compacted(text json.RawMessage) json.RawMessage {
	var b bytes.Buffer
	if json.Compact(&b, text) != nil {
		return text
	}
	return b.Bytes()
}
