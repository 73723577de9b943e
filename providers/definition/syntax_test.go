package definition

import (
	"fmt"
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
			_, err := readFiles(fstest.MapFS{"x.yaml": {Data: []byte(text)}}, func(text []byte) []byte { return text })
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

// Aliases of aliases are refused before they are expanded, which would take all memory; likewise many aliases of a long text, and
// an anchor within a merged map, which is expanded first. A few aliases are accepted.
func TestAliasesAreBounded(t *testing.T) {
	t.Parallel()
	levels := "b0: &b0 [x, x, x, x, x, x, x, x, x, x]\n"
	for i := range 9 {
		levels += fmt.Sprintf("b%d: &b%d [%s]\n", i+1, i+1, strings.Repeat(fmt.Sprintf("*b%d, ", i), 10))
	}
	text := strings.Repeat("x", 200_000)
	for name, wrong := range map[string]string{
		"levels": "name: x\n" + levels,
		"text":   "a: &a " + text + "\nb: [" + strings.Repeat("*a, ", 10) + "]\n",
		"block":  "a: &a |\n  " + text + "\nb: [" + strings.Repeat("*a, ", 10) + "]\n",
		"key":    "a: &a {" + text + ": 1}\nb: [" + strings.Repeat("*a, ", 10) + "]\n",
		"merge":  "a: &a 1\nb:\n  c: [" + strings.Repeat("*a, ", 10) + "]\n  <<: {d: &a " + text + "}\n",
	} {
		_, err := readFiles(fstest.MapFS{"x.yaml": {Data: []byte(wrong)}}, func(text []byte) []byte { return text })
		require.ErrorContains(t, err, "repeat more than 1048576 bytes: use fewer of them", name)
		require.ErrorContains(t, err, "x.yaml: line ", name)
	}
	tree, err := readTree([]byte("a: &a [1, 2]\nb: [" + strings.Repeat("*a, ", 1000) + "]\n"))
	require.NoError(t, err)
	require.Len(t, tree["b"], 1000)
}

// A merge key gives fields that the map itself doesn't have, wherever it is written; of several bases, the first one wins.
func TestMergeKeysAddMissingFields(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"first":  "a: &base {timeout: 5s, rate: 1}\nb:\n  <<: *base\n  timeout: 30s\n",
		"last":   "a: &base {timeout: 5s, rate: 1}\nb:\n  timeout: 30s\n  <<: *base\n",
		"flow":   "a: &base {timeout: 5s, rate: 1}\nb: {timeout: 30s, <<: *base}\n",
		"list":   "a: &base {timeout: 30s}\nc: &more {timeout: 9s, rate: 1}\nb:\n  <<: [*base, *more]\n",
		"nested": "a: &base {rate: 1}\nc: &more {<<: *base, timeout: 9s}\nb:\n  timeout: 30s\n  <<: *more\n",
	} {
		tree, err := readTree([]byte(text))
		require.NoError(t, err, name)
		require.Equal(t, map[string]any{"timeout": "30s", "rate": uint64(1)}, tree["b"], name)
	}
	tree, err := readTree([]byte("a: <<\n\"<<\": x\n"))
	require.NoError(t, err)
	require.Equal(t, map[string]any{"a": "<<", "<<": "x"}, tree, "text isn't a merge key")
	_, err = readTree([]byte("a: 1\na: 2\n"))
	require.ErrorContains(t, err, "[2:1]")
}
