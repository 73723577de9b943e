package jq

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast/providers/decode"
)

// row is a row of the table of differences from jq: expression, input, jq's value and ours.
var row = regexp.MustCompile("(?m)^\\| `(.+?)` \\| `(.+?)` \\| `(.+?)` \\| `(.+?)` \\|$")

// The page says how values differ from jq's: its expressions give what it says, with the version of gojq that it names.
func TestThePageOfExpressionsNamesTheDifferencesFromJq(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/expressions.md")
	require.NoError(t, err)
	modules, err := os.ReadFile("../../go.mod")
	require.NoError(t, err)
	version := regexp.MustCompile(`github\.com/itchyny/gojq (v\S+)`).FindSubmatch(modules)[1]
	require.Contains(t, string(page), "[gojq](https://github.com/itchyny/gojq) "+string(version)+".")

	rows := row.FindAllStringSubmatch(string(page), -1)
	require.Greater(t, len(rows), 25)
	for _, cells := range rows {
		for i := range cells {
			cells[i] = strings.ReplaceAll(cells[i], `\|`, "|")
		}
		expression, input, theirs, ours := cells[1], cells[2], cells[3], cells[4]
		require.NotEqual(t, theirs, ours, expression)
		body, err := decode.JSON([]byte(input))
		require.NoError(t, err, input)
		x, err := Compile("state", ".body | ("+expression+")")
		require.NoError(t, err, expression)
		v, err := x.Once(NewInput(nil, nil, nil, body, nil))
		require.NoError(t, err, expression)
		text, err := Marshal(v, 1<<10)
		require.NoError(t, err)
		require.Equal(t, ours, string(text), "%s of %s", expression, input)
	}
}
