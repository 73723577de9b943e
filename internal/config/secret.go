package config

import (
	"fmt"
	"io"
	"log/slog"
	"strings"
)

// secretMask replaces every set secret, whatever its length.
const secretMask = "********"

// Secret is text that logs, prints and JSON don't show. Only Reveal returns it; the zero value is empty.
type Secret struct {
	// text is a pointer because for some verbs (%p) fmt calls no method and prints the fields instead.
	text *string
}

// Reveal returns the text, for the one place that needs it.
func (s Secret) Reveal() string {
	if s.text == nil {
		return ""
	}
	return *s.text
}

// IsSet reports whether the secret isn't empty.
func (s Secret) IsSet() bool { return s.Reveal() != "" }

// String returns the mask, or "" if the secret is empty.
func (s Secret) String() string {
	if !s.IsSet() {
		return ""
	}
	return secretMask
}

// Format writes the mask for every verb.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, s.String()) }

// LogValue returns the mask.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

// MarshalText returns the mask, in JSON too.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText trims white space around the text.
func (s *Secret) UnmarshalText(text []byte) error {
	trimmed := strings.TrimSpace(string(text))
	s.text = &trimmed
	return nil
}
