package auth

import (
	"fmt"
	"os"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

// The pages about definitions state the limits of this package.
func TestPageNamesLimitsOfSignatures(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/expressions.md")
	require.NoError(t, err)
	for row, number := range map[string]int{"A header with signatures": maxSignatureHeader} {
		require.Regexp(t, `(?m)^\| `+regexp.QuoteMeta(row)+`.* \| `+fmt.Sprint(number), string(page))
	}
	fields, err := os.ReadFile("../../docs/providers.md")
	require.NoError(t, err)
	for _, variable := range contentVariables {
		require.Contains(t, string(fields), "`{"+variable+"}`")
	}
}
