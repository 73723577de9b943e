package mapping

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// The parts of a key cannot be moved from one into the next.
func TestPartsOfAKeyStayApart(t *testing.T) {
	t.Parallel()
	require.NotEqual(t, joinKey([]string{"a:b", "c"}), joinKey([]string{"a", "b:c"}))
	require.NotEqual(t, joinKey([]string{"a%3Ab"}), joinKey([]string{"a:b"}))
	require.Equal(t, "a:b:c", joinKey([]string{"a", "b", "c"}))
}
