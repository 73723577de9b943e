package delivery

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
)

// Headers are sent with each request, by name. Their values are secret: they are stored apart from the settings, which keep only
// the names, and are read for attempts alone. Everywhere else a stored value reads as MaskedHeader.
type Headers map[string]string

// MaskedHeader stands for a value that is stored. A destination that is applied with it, or an empty value, keeps that value.
const MaskedHeader = "[redacted]"

// keepsStored reports whether a value that is applied stands for the stored one.
func keepsStored(value string) bool { return value == "" || value == MaskedHeader }

// Names returns the names, sorted.
func (h Headers) Names() []string { return slices.Sorted(maps.Keys(h)) }

// Masked returns the headers without their values.
func (h Headers) Masked() Headers {
	if h == nil {
		return nil
	}
	masked := make(Headers, len(h))
	for name := range h {
		masked[name] = MaskedHeader
	}
	return masked
}

// Over returns the headers with the stored value in place of each one that stands for it. The first name without a stored value
// is returned as missing.
func (h Headers) Over(stored Headers) (whole Headers, missing string) {
	whole = make(Headers, len(h))
	for _, name := range h.Names() {
		value := h[name]
		if keepsStored(value) {
			kept, ok := stored[name]
			if !ok && missing == "" {
				missing = name
			}
			value = kept
		}
		whole[name] = value
	}
	return whole, missing
}

// UnmarshalJSON reads an object over the headers that are there, like any map, or a list of names, which is how settings are
// stored.
func (h *Headers) UnmarshalJSON(text []byte) error {
	if bytes.HasPrefix(bytes.TrimSpace(text), []byte("[")) {
		var names []string
		if err := json.Unmarshal(text, &names); err != nil {
			return err
		}
		*h = make(Headers, len(names))
		for _, name := range names {
			(*h)[name] = MaskedHeader
		}
		return nil
	}
	return json.Unmarshal(text, (*map[string]string)(h))
}
