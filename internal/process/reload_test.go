package process

import (
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast/providers"
)

func TestAReloadIsSummarizedInOneLine(t *testing.T) {
	require.Equal(t, "definitions reloaded: nothing has changed", reloadText(providers.Loading{}))
	require.Equal(t, "definitions reloaded: added acme, bolt; removed wind",
		reloadText(providers.Loading{Added: []string{"acme", "bolt"}, Removed: []string{"wind"}}))
}
