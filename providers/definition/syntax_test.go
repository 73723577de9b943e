package definition

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
)

// A definition that consists of nesting is refused before it is parsed, which would take hours. Nesting within the limit, and
// brackets in text, are accepted.
func TestNestingIsBounded(t *testing.T) {
	t.Parallel()
	for name, level := range map[string][2]string{
		"lists": {"[", "]"}, "open lists": {"[", ""}, "maps": {"{a: ", "}"}, "both": {"[{a: ", "}]"}, "anchors": {"&a [", "]"},
		"entries": {"- ", ""},
	} {
		nested := func(depth int) error {
			text := "name: x\na:\n  " + strings.Repeat(level[0], depth) + strings.Repeat(level[1], depth)
			_, err := readFiles(fstest.MapFS{"x.yaml": {Data: []byte(text)}})
			return err
		}
		require.ErrorContains(t, nested(100_000), "line 3: nested deeper than 64 levels", name)
		require.ErrorContains(t, nested(maxNesting+1), "nested deeper", name)
		if name != "open lists" {
			require.NoError(t, nested(maxNesting/2), name)
		}
	}
	brackets := strings.Repeat("[", 1000)
	_, err := readTree([]byte("a: '" + brackets + "'\nb: |\n  " + brackets + "\n# " + brackets + "\n"))
	require.NoError(t, err)
}

// A merge key is refused with its line, since the parser gives precedence to the wrong side. As a value, or quoted, it is text.
func TestMergeKeysAreRefused(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"block": "a: &base\n  timeout: 5s\nb:\n  <<: *base\n  timeout: 30s\n",
		"flow":  "a: &base\n  timeout: 5s\n\nb: {timeout: 30s, <<: *base}\n",
		"list":  "a: &base {timeout: 5s}\nc: &more {timeout: 9s}\nb:\n  <<: [*base, *more]\n",
	} {
		_, err := readTree([]byte(text))
		require.ErrorContains(t, err, "line 4: the merge key <<", name)
	}
	tree, err := readTree([]byte("a: &base {timeout: 5s}\nb: *base\nc: <<\n\"<<\": x\n"))
	require.NoError(t, err)
	require.Equal(t, "5s", tree["b"].(map[string]any)["timeout"])
	require.Equal(t, "<<", tree["c"])
}
