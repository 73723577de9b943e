package config

import (
	"fmt"
	"io"
	"log/slog"
	"strings"
)

// secretMask stands for every secret that is set, whatever its length.
const secretMask = "********"

// Secret is text that no log, print or JSON shows. Only Reveal gives it; the zero value is an empty one.
type Secret struct {
	// text is behind a pointer because fmt never asks a method for some verbs (%p), and prints the fields instead.
	text *string
}

// Reveal gives the text itself, for the one place that needs it.
func (s Secret) Reveal() string {
	if s.text == nil {
		return ""
	}
	return *s.text
}

// IsSet is false for an empty secret.
func (s Secret) IsSet() bool { return s.Reveal() != "" }

// String is the mask, or "" if nothing is set.
func (s Secret) String() string {
	if !s.IsSet() {
		return ""
	}
	return secretMask
}

// Format writes the mask for every verb.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, s.String()) }

// LogValue is the mask.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

// MarshalText is the mask, in JSON too.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText takes the text without the white space around it.
func (s *Secret) UnmarshalText(text []byte) error {
	trimmed := strings.TrimSpace(string(text))
	s.text = &trimmed
	return nil
}
