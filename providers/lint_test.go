package providers

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// The built-in catalogue passes the linter.
func TestCatalogueIsClean(t *testing.T) {
	t.Parallel()
	checked, err := CheckAll("", nil)
	require.NoError(t, err)
	for _, f := range checked.Findings {
		t.Error(f)
	}
	require.GreaterOrEqual(t, len(checked.Names), 18)
}
