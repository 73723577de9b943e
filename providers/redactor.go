package providers

import (
	"encoding/json"

	"holdfast/event"
	"holdfast/event/shape"
)

// Redactor applies the redaction of definitions. For an unknown provider it hides everything.
type Redactor struct {
	Lookup func(name string) (*Provider, bool)
}

// Redacts reports whether a provider's definition hides anything.
func (r Redactor) Redacts(provider string) bool {
	p, ok := r.Lookup(provider)
	return !ok || p.Redacts()
}

// Redact returns a body as JSON without its hidden parts.
func (r Redactor) Redact(receipt event.Receipt, body []byte) (json.RawMessage, error) {
	p, ok := r.Lookup(receipt.Provider)
	if !ok {
		return json.RawMessage("null"), nil
	}
	return p.Redact(receipt, body)
}

// Reads returns a function that lists the paths of the body which a definition reads of the events of a type; none for an unknown
// provider.
func Reads(lookup func(name string) (*Provider, bool)) func(provider, eventType string) []shape.Read {
	return func(provider, eventType string) []shape.Read {
		p, ok := lookup(provider)
		if !ok {
			return nil
		}
		return p.Reads(eventType)
	}
}
