package mapping

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Text can't move from one part of a key into the next.
func TestPartsOfAKeyStayApart(t *testing.T) {
	t.Parallel()
	require.NotEqual(t, joinKey([]string{"a:b", "c"}), joinKey([]string{"a", "b:c"}))
	require.NotEqual(t, joinKey([]string{"a%3Ab"}), joinKey([]string{"a:b"}))
	require.Equal(t, "a:b:c", joinKey([]string{"a", "b", "c"}))
}
