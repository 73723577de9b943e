// Package printable makes text safe to show: it escapes characters that are invisible or reorder the text around them.
package printable

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Text shows control and format characters as escapes, \u001b or \u202e: terminals obey the former, and directional ones make a
// text read differently. Tabs and line ends stay, and so do joiners, which scripts and emoji need.
func Text(s string) string {
	if strings.IndexFunc(s, IsHidden) < 0 {
		return s
	}
	var out strings.Builder
	for i, r := range s {
		switch {
		case !IsHidden(r), r == '\r' && strings.HasPrefix(s[i:], "\r\n"):
			out.WriteRune(r)
		case r > 0xffff:
			fmt.Fprintf(&out, `\U%08x`, r)
		default:
			fmt.Fprintf(&out, `\u%04x`, r)
		}
	}
	return out.String()
}

// IsHidden reports whether Text escapes a character.
func IsHidden(r rune) bool {
	switch r {
	case '\n', '\t', '\u200c', '\u200d':
		return false
	}
	return unicode.IsControl(r) || unicode.Is(unicode.Cf, r)
}

// Beginning returns at most the given number of bytes of a text, and doesn't cut through a character.
func Beginning(s string, most int) string {
	if len(s) <= most {
		return s
	}
	for most > 0 && !utf8.RuneStart(s[most]) {
		most--
	}
	return s[:most]
}

// Shorten cuts a text after some characters, and marks the cut.
func Shorten(s string, most int) string {
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + "…"
	}
	return s
}
