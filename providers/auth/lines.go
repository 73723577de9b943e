package auth

import (
	"slices"
	"strings"

	"holdfast/providers/auth/denial"
	"holdfast/providers/decode"
)

// isLine reports whether a part is a name and its value on separate lines.
func (p contentPart) isLine() bool { return p.variable == "line" || p.variable == "lines" }

// checkLines refuses values that make the signed text ambiguous. The text has no lengths, so a value with line breaks could
// contain further names and values: those of a message that the sender signed for another customer.
//   - A {line:PATH} has one line, and one of the template's values if it lists them.
//   - The first {lines:PATH} may contain anything: the lines after it are read from the end. The one that follows must exist,
//     or the text before it could contain it.
//   - A later {lines:PATH} with line breaks must not have a signed name on a line of its own.
func (c content) checkLines(places map[string]decode.Place) error {
	isBehindText := false
	for i, part := range c.parts {
		if !part.isLine() {
			continue
		}
		place := places[part.of]
		isBroken := strings.ContainsAny(place.Text, "\r\n")
		switch {
		case part.variable == "lines" && i == 0:
			isBehindText = true
			continue
		case part.variable == "lines" && isBroken && c.hasName(place.Text),
			part.variable == "line" && isBroken,
			len(part.allowed) > 0 && !slices.Contains(part.allowed, place.Text),
			isBehindText && !place.Found:
			return denial.At(denial.MalformedHeader, partOfBody(part.of))
		}
		isBehindText = false
	}
	return nil
}

// hasName reports whether one of the lines of a text is a signed name.
func (c content) hasName(text string) bool {
	for line := range strings.Lines(text) {
		if slices.Contains(c.places, strings.TrimRight(line, "\r\n")) {
			return true
		}
	}
	return false
}
