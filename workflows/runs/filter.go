package runs

import (
	"strings"
	"unicode"
)

// matching returns a condition on an attribute in Temporal's visibility list. Some characters reach the list's database in
// another form than they were stored, or break the query ("?" does on PostgreSQL), so only a value without them is compared
// whole. Of any other value, the condition compares the part before the first such character: callers must compare the rest
// themselves.
func matching(attribute, value string) string {
	end := strings.IndexFunc(value, isUnsafe)
	switch {
	case end < 0:
		return " AND " + attribute + " = '" + value + "'"
	case end == 0:
		return ""
	}
	return " AND " + attribute + " STARTS_WITH '" + value[:end] + "'"
}

// isUnsafe reports whether Temporal's list might read a character of a value in its own way.
func isUnsafe(r rune) bool {
	return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune(" .:/@+-_,=~#", r)
}
