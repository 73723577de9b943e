package jq

import (
	"fmt"
	"os"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

// The page about definitions states the limits of this package.
func TestPageNamesLimitsOfExpressions(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/expressions.md")
	require.NoError(t, err)
	for row, number := range map[string]int{"Values that `each` may give": maxOutputs} {
		require.Regexp(t, `(?m)^\| `+regexp.QuoteMeta(row)+`.* \| `+fmt.Sprint(number), string(page))
	}
}
