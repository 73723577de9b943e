package definition

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestGlobs(t *testing.T) {
	t.Parallel()
	pattern := func(s string) Glob { return strings.Split(s, "*") }
	for _, c := range []struct {
		a, b             string
		covers, overlaps bool
	}{
		{"a.*", "a.b", true, true},
		{"a.b", "a.*", false, true},
		{"*", "a.*", true, true},
		{"*.deleted", "order.*", false, true},
		{"*.deleted", "order.d", false, false},
		{"a*c", "ab*c", true, true},
		{"a*c", "a*cd", false, false},
		{"a", "a", true, true},
		{"", "*", false, true},
		{"a*", "b*", false, false},
		{"*a*", "*b*", false, true},
	} {
		require.Equal(t, c.covers, pattern(c.a).covers(pattern(c.b)), "%s covers %s", c.a, c.b)
		require.Equal(t, c.overlaps, pattern(c.a).overlaps(pattern(c.b)), "%s overlaps %s", c.a, c.b)
		require.Equal(t, c.overlaps, pattern(c.b).overlaps(pattern(c.a)), "%s overlaps %s", c.b, c.a)
	}
}

// Whether two patterns overlap agrees with what they match.
func TestGlobsAgreeWithMatching(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		draw := func(name, alphabet string) string { return rapid.StringMatching("["+alphabet+"]{0,5}").Draw(t, name) }
		a, b := Glob(strings.Split(draw("a", "ab*"), "*")), Glob(strings.Split(draw("b", "ab*"), "*"))
		s := draw("s", "abc")
		if a.Match(s) && b.Match(s) {
			require.True(t, a.overlaps(b))
		}
		if a.covers(b) && b.Match(s) {
			require.True(t, a.Match(s))
		}
	})
}
