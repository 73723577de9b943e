package delivery

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
)

// Headers are sent with each request. Their values are secret and stored apart from the settings, which have only the names. Only
// senders read the values; everywhere else a stored value reads as MaskedHeader.
type Headers map[string]string

// MaskedHeader replaces a stored value. Applying it, or an empty value, keeps the stored value.
const MaskedHeader = "[redacted]"

func keepsStored(value string) bool { return value == "" || value == MaskedHeader }

// Names returns the sorted names.
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

// Over fills in the stored values of headers that keep theirs. missing is the first name without a stored value.
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

// UnmarshalJSON reads an object into the existing map, or a list of names, the form of stored settings.
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
