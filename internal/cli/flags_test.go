package cli

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAPlanTakesWholeSeconds(t *testing.T) {
	t.Parallel()
	require.Equal(t, "at least 1s, at 50/s", PlanDuration(23, 50))
	require.Equal(t, "at least 1m21s, at 50/s", PlanDuration(4001, 50))
	require.Empty(t, PlanDuration(0, 50))
}
