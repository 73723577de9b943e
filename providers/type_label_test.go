package providers

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// Metrics know the types that a definition names, and put all others into one.
func TestATypeHasALabel(t *testing.T) {
	t.Parallel()
	p, ok := catalogueOf(t).Lookup("stripe")
	require.True(t, ok)
	require.Equal(t, "customer.updated", p.TypeLabel("customer.updated"), "a sample")
	require.Equal(t, "payment_intent.*", p.TypeLabel("payment_intent.made_up"), "a pattern")
	for i := range 3 {
		require.Equal(t, OtherType, p.TypeLabel(fmt.Sprint("invented.", i)))
	}
	require.Equal(t, OtherType, p.TypeLabel(""))
}
