package jq

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// An expression that consists of nesting is refused before it is parsed. Nesting within the limit, and brackets in text and
// comments, are accepted.
func TestNestingIsBounded(t *testing.T) {
	t.Parallel()
	for _, level := range [][2]string{
		{"[", "]"}, {"(", ")"}, {"{a: ", "}"}, {".[", "]"}, {"first(", ")"}, {`"\(`, `)"`}, {"[.[] | ", "]"}, {"", "[0]"},
	} {
		nested := func(depth int) error {
			_, err := Compile("type", strings.Repeat(level[0], depth)+"."+strings.Repeat(level[1], depth))
			return err
		}
		require.ErrorContains(t, nested(1<<20), "is longer than 16384 bytes", level)
		if level[0] != "" {
			require.ErrorContains(t, nested(maxNesting+1), "is nested deeper than 64 levels", level)
		}
		require.NoError(t, nested(maxNesting/2), level)
	}
	brackets := strings.Repeat("([{", maxNesting)
	_, err := Compile("type", `"\\`+brackets+`\"" # `+brackets+"\n | ."+strings.Repeat("[0]", 2*maxNesting))
	require.NoError(t, err)
	_, _, ok := RequiredEquality(strings.Repeat("(", 1<<20))
	require.False(t, ok)
}
