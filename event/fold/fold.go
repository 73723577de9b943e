package fold

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"holdfast/event"
)

// Of returns the entity after all changes, which may come in any order. Changes of one event to one entity share an Order and
// apply in slice order. Without changes, or with mentions alone, the state is {} and the order zero.
func Of(ref event.EntityRef, changes []event.OrderedChange) (event.Entity, error) {
	sorted := slices.Clone(changes)
	slices.SortStableFunc(sorted, func(a, b event.OrderedChange) int { return a.Order.Compare(b.Order) })
	return Apply(event.Entity{EntityRef: ref, State: emptyState()}, sorted[lastReset(sorted):]...)
}

// lastReset returns the index of the last snapshot or delete: earlier changes don't affect the result.
func lastReset(sorted []event.OrderedChange) int {
	for i := len(sorted) - 1; i >= 0; i-- {
		if sorted[i].Change.Resets() {
			return i
		}
	}
	return 0
}

// Apply returns the entity after more changes in fold order, none of which precedes e.Last. It doesn't modify e.
func Apply(e event.Entity, changes ...event.OrderedChange) (event.Entity, error) {
	for len(changes) > 0 {
		patches := 0
		for patches < len(changes) && changes[patches].Change.Op == event.OpPatch {
			patches++
		}
		var err error
		if e, err = patch(e, changes[:patches]); err != nil {
			return event.Entity{}, err
		}
		if changes = changes[patches:]; len(changes) == 0 {
			break
		}
		c := changes[0]
		if !c.Change.Resets() {
			return event.Entity{}, event.Rejectf("unknown_op", "change of event %s has no known operation", c.Order.EventID)
		}
		if e.State, e.Deleted, e.Last = c.Change.State, c.Change.Op == event.OpDelete, c.Order; len(e.State) == 0 {
			e.State = emptyState()
		}
		changes = changes[1:]
	}
	return e, nil
}

// patch merges patches, decoding and encoding the state once.
func patch(e event.Entity, changes []event.OrderedChange) (event.Entity, error) {
	changes = slices.DeleteFunc(slices.Clone(changes), func(c event.OrderedChange) bool { return c.Change.Mentions() })
	if len(changes) == 0 {
		return e, nil
	}
	if len(e.State) == 0 {
		e.State = emptyState()
	}
	merged, err := decodeExact(e.State)
	for _, c := range changes {
		var patch any
		if err == nil {
			patch, err = decodeExact(c.Change.State)
		}
		if err != nil {
			return event.Entity{}, fmt.Errorf("fold event %s: %w", c.Order.EventID, err)
		}
		merged, e.Last = merge(merged, patch), c.Order
	}
	e.State, err = encodeExact(merged)
	return e, err
}

func emptyState() json.RawMessage { return json.RawMessage(`{}`) }

// merge implements RFC 7396, section 2. Numbers keep their digits.
func merge(target, patch any) any {
	changes, ok := patch.(map[string]any)
	if !ok {
		return patch
	}
	merged, ok := target.(map[string]any)
	if !ok {
		merged = make(map[string]any, len(changes))
	}
	for name, value := range changes {
		if value == nil {
			delete(merged, name)
			continue
		}
		merged[name] = merge(merged[name], value)
	}
	return merged
}

// decodeExact decodes JSON and keeps the digits of numbers. The error doesn't quote the input.
func decodeExact(b json.RawMessage) (any, error) {
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, event.Rejectf("malformed_state", "state of an entity is not JSON")
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, event.Rejectf("malformed_state", "state of an entity is more than one JSON value")
	}
	return v, nil
}

func encodeExact(v any) (json.RawMessage, error) {
	var buf bytes.Buffer
	e := json.NewEncoder(&buf)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, fmt.Errorf("encode state: %w", err)
	}
	return bytes.TrimRight(buf.Bytes(), "\n"), nil
}

// Canonical returns JSON with sorted names and no white space, so that equal values have equal text. Numbers keep their digits.
func Canonical(raw json.RawMessage) (json.RawMessage, error) {
	v, err := decodeExact(raw)
	if err != nil {
		return nil, err
	}
	return encodeExact(v)
}
