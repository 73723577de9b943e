package auth

import (
	"slices"
	"strings"

	"holdfast/providers/auth/denial"
	"holdfast/providers/decode"
)

// isLine says that a part is a name and its value on lines of their own.
func (p contentPart) isLine() bool { return p.variable == "line" || p.variable == "lines" }

// checkLines refuses values that let the signed text be read in another way than the sender wrote it. The text has no lengths, so
// a value with line breaks could hold further names and values: those of a message that the sender signed for somebody else.
//   - A {line:PATH} has one line, and one of its values where the template lists them.
//   - The first {lines:PATH} may hold anything: the lines behind it are read from the end. The one that follows must be there,
//     or the text in front could hold it.
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

// hasName says that one of the lines of a text is a signed name.
func (c content) hasName(text string) bool {
	for line := range strings.Lines(text) {
		if slices.Contains(c.places, strings.TrimRight(line, "\r\n")) {
			return true
		}
	}
	return false
}
