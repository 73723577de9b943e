package postgres

import (
	"bytes"
	"database/sql/driver"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"holdfast/event"
)

// Clean replaces what a text column can't store: NUL and invalid UTF-8 become U+FFFD.
func Clean(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, replacement), "\x00", replacement)
}

// IsClean reports whether a text column can store s unchanged.
func IsClean(s string) bool { return utf8.ValidString(s) && !strings.Contains(s, "\x00") }

// Clip cuts s to limit bytes or less, at a character.
func Clip(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return s[:limit]
}

// Bytea returns b for a bytea column that is never NULL.
func Bytea(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}

// JSON is a value for a json or jsonb column. A value that can't be encoded fails its statement.
type JSON struct{ Of any }

// Value implements driver.Valuer.
func (j JSON) Value() (driver.Value, error) {
	b, err := json.Marshal(j.Of)
	return string(b), err
}

// HeadersColumn returns the receipt's headers for a jsonb column.
func HeadersColumn(r event.Receipt) (string, error) {
	headers := make(map[string]string, len(r.Headers))
	for name, value := range r.Headers {
		headers[Clean(name)] = Clean(value)
	}
	b, err := json.Marshal(headers)
	if err != nil {
		return "", fmt.Errorf("encode headers: %w", err)
	}
	return string(b), nil
}

// ReceiptColumn returns the receipt for a json column. Unlike jsonb, json keeps \u0000, lone surrogates and digits. Only invalid
// UTF-8 is replaced, and a root that is not JSON, or nests deeper than PostgreSQL can read, is left out.
func ReceiptColumn(r event.Receipt) (string, error) {
	if !json.Valid(r.Root) || depth(r.Root) > maxDepth {
		r.Root = nil
	}
	b, err := json.Marshal(r)
	if err != nil {
		return "", fmt.Errorf("encode receipt: %w", err)
	}
	return strings.ToValidUTF8(string(b), replacement), nil
}

// StateColumn returns the state of an entity, or a change of it, for a jsonb column.
func StateColumn(c event.Change) (json.RawMessage, error) {
	if len(c.State) == 0 {
		return json.RawMessage(`{}`), nil
	}
	state, note := Project(c.State)
	kind := Clip(Clean(c.Kind), 100)
	switch {
	case state == nil:
		return nil, event.Rejectf("state_"+note, "the state of an entity of kind %q cannot be stored", kind)
	case !isObject(state):
		return nil, event.Rejectf("state_not_object", "the state of an entity of kind %q is no JSON object", kind)
	}
	return state, nil
}

func isObject(raw []byte) bool {
	return bytes.HasPrefix(bytes.TrimLeft(raw, " \t\r\n"), []byte("{"))
}

// KnownClass replaces unknown classes, so that no dead letter is refused for its class.
func KnownClass(c event.Class) string {
	switch c {
	case event.ClassTransient, event.ClassRejected, event.ClassFailed, event.ClassInDoubt, event.ClassConflict:
		return string(c)
	default:
		return string(event.ClassFailed)
	}
}
