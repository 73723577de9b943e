package printable_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast/internal/printable"
)

// Directional characters and those that terminals obey are escaped; ordinary text stays.
func TestHiddenCharactersAreShownAsEscapes(t *testing.T) {
	t.Parallel()
	for _, r := range []rune{
		0x202a, 0x202b, 0x202c, 0x202d, 0x202e, 0x2066, 0x2067, 0x2068, 0x2069, 0x200e, 0x200f, 0x061c, 0x1b, 0x07, 0x9b, 0xfeff,
	} {
		shown := printable.Text("a" + string(r) + "b")
		require.Regexp(t, `^a\\u[0-9a-f]{4}b$`, shown)
	}
	require.Equal(t, `gpj.\u202eexe`, printable.Text("gpj.\u202eexe"))
	require.Equal(t, `\U000e0041`, printable.Text("\U000e0041"))
	for _, same := range []string{"", "a\tb\nc\r\nd", "Grüße, 東京 مرحبا 👩\u200d💻", "می\u200cخواهم"} {
		require.Equal(t, same, printable.Text(same))
	}
	require.Equal(t, `over\u000dwritten`, printable.Text("over\rwritten"))
}
