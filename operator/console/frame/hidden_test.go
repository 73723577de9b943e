package frame

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A type or a key that turns the text around it is shown as what it is; what a form sends back isn't changed.
func TestDirectionalCharactersAreShownAsEscapes(t *testing.T) {
	t.Parallel()
	page := "<td title=\"a\u2066b\">gpj.\u202eexe</td><input value=\"k\u202e\"><textarea name=\"body\">\n\u202e</textarea>\u200f"
	require.Equal(t, "<td title=\"a\\u2066b\">gpj.\\u202eexe</td><input value=\"k\u202e\"><textarea name=\"body\">\n\u202e</textarea>\\u200f",
		string(withoutHidden([]byte(page))))
}
