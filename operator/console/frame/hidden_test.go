package frame

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Directional characters in a type or a key are shown as escapes; form values aren't changed.
func TestDirectionalCharactersAreShownAsEscapes(t *testing.T) {
	t.Parallel()
	page := "<td title=\"a\u2066b\">gpj.\u202eexe</td><input value=\"k\u202e\"><textarea name=\"body\">\n\u202e</textarea>\u200f"
	require.Equal(t, "<td title=\"a\\u2066b\">gpj.\\u202eexe</td><input value=\"k\u202e\"><textarea name=\"body\">\n\u202e</textarea>\\u200f",
		string(withoutHidden([]byte(page))))
}
