package decode

import (
	"fmt"
	"os"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

// The page about definitions states the limits of this package.
func TestPageNamesLimitsOfBodies(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/expressions.md")
	require.NoError(t, err)
	for row, number := range map[string]int{
		"Events of one batch; its envelope": MaxItems, "Depth of JSON": maxDepth,
		"Events of one batch, for its size": fewItems,
	} {
		require.Regexp(t, `(?m)^\| `+regexp.QuoteMeta(row)+`.* \| `+fmt.Sprint(number), string(page))
	}
}
