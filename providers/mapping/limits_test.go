package mapping

import (
	"fmt"
	"os"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

// The page about definitions states the limits of this package.
func TestPageNamesLimitsOfEvents(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/expressions.md")
	require.NoError(t, err)
	for row, number := range map[string]int{"Entities of one event": maxChanges, "A kept header or parameter": maxKeptValue, "ID of an entity": maxExternalID} {
		require.Regexp(t, `(?m)^\| `+regexp.QuoteMeta(row)+`.* \| `+fmt.Sprint(number), string(page))
	}
}
