package fold

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"holdfast/event"
)

// Effect is a change in an entity's timeline, with the fields that it changed.
type Effect struct {
	event.Link
	// Fields compares the states before and after the change.
	Fields []FieldDiff `json:"fields"`
	// Unknown: the states weren't compared, because the earlier one is unknown or they are too large.
	Unknown bool `json:"unknown,omitempty"`
}

// maxCompared bounds the states that Effects compares, in bytes.
const maxCompared = 4 << 20

// Effects computes the effects of a contiguous part of a timeline, latest change first. before is the entity before all of them,
// if known. If the states are large, only the latest are compared.
func Effects(before event.Entity, known bool, links []event.Link) ([]Effect, error) {
	effects := make([]Effect, len(links))
	at := walk{entity: before, known: known}
	newest := compared(before, links)
	if err := at.skip(links[newest:]); err != nil {
		return nil, err
	}
	for i, l := range slices.Backward(links) {
		effects[i] = Effect{Link: l, Fields: []FieldDiff{}}
		switch {
		case ordered(l).Change.Mentions() || l.WithoutEffect:
		case i >= newest:
			effects[i].Unknown = true
		default:
			if err := at.compare(&effects[i]); err != nil {
				return nil, err
			}
		}
	}
	return effects, nil
}

// compared returns how many of the latest changes are compared.
func compared(before event.Entity, links []event.Link) int {
	left := maxCompared
	for i, l := range links {
		if left -= 2 * max(len(before.State), len(l.State)); left < 0 {
			return i
		}
	}
	return len(links)
}

// walk is the state of the entity at a point of its timeline.
type walk struct {
	entity event.Entity
	known  bool
}

// skip applies changes without comparing.
func (w *walk) skip(links []event.Link) (err error) {
	var changes []event.OrderedChange
	for _, l := range slices.Backward(links) {
		if c := ordered(l); !l.WithoutEffect {
			changes = append(changes, c)
			w.known = w.known || c.Change.Resets()
		}
	}
	if w.known {
		w.entity, err = Apply(w.entity, changes[lastReset(changes):]...)
	}
	return err
}

// compare applies one change and compares the states.
func (w *walk) compare(e *Effect) error {
	c := ordered(e.Link)
	if e.Unknown = !w.known; !w.known && !c.Change.Resets() {
		return nil
	}
	after, err := Apply(w.entity, c)
	if err == nil && w.known {
		e.Fields, err = Diff(w.entity, after)
	}
	w.entity, w.known = after, true
	return err
}

func ordered(l event.Link) event.OrderedChange {
	return event.OrderedChange{
		Order:  event.Order{Version: l.Version, OccurredAt: l.OccurredAt, EventID: l.EventID},
		Change: event.Change{Kind: l.Kind, ExternalID: l.ExternalID, Op: l.Op, State: l.State, Version: l.Version},
	}
}

// Origin is the change that set a field.
type Origin struct {
	Field string          `json:"field"`
	Value json.RawMessage `json:"value"`
	// By is the change that set the value; nil if it is older than the effects.
	By *event.Link `json:"by,omitempty"`
}

// Origins returns, for each field of a state by name, which of the effects that led to it, latest first, set its value. A change
// that repeats a value doesn't count.
func Origins(state json.RawMessage, effects []Effect) ([]Origin, error) {
	decoded, err := decodeExact(orEmpty(state))
	if err != nil {
		return nil, err
	}
	fields, _ := decoded.(map[string]any)
	by := originsOf(effects)
	origins := make([]Origin, 0, len(fields))
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		value, err := encodeExact(fields[name])
		if err != nil {
			return nil, err
		}
		origins = append(origins, Origin{Field: name, Value: value, By: by[pointerTo(name)]})
	}
	return origins, nil
}

// originsOf returns the last change of each field, by escaped name. It stops at an unknown effect.
func originsOf(effects []Effect) map[string]*event.Link {
	by := map[string]*event.Link{}
	for _, e := range effects {
		if e.Unknown {
			break
		}
		for _, f := range e.Fields {
			path, isField := strings.CutPrefix(f.Path, "/")
			name, _, _ := strings.Cut(path, "/")
			if isField && by[name] == nil {
				by[name] = &e.Link
			}
		}
	}
	return by
}
