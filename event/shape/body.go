package shape

import (
	"bytes"
	"encoding/json"

	"holdfast/event"
)

// Redact returns a body as JSON without what the definition of its provider hides; null if it can't be read.
type Redact func(r event.Receipt, body []byte) (json.RawMessage, error)

// Body decodes the body of an event for Add. ok is false without one, and if it can't be read.
func Body(r event.Receipt, body []byte, redact Redact) (v any, ok bool) {
	if body == nil {
		return nil, false
	}
	text, err := redact(r, body)
	if err != nil || string(text) == "null" {
		return nil, false
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	return v, decoder.Decode(&v) == nil
}
