package ingress

import (
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast/event"
	"holdfast/ingress/intake"
	"holdfast/workflows/runs"
)

// Metrics count a repeated event as a duplicate, wherever the first one is stored. A different event with its key isn't one.
func TestADuplicateIsCountedAsOne(t *testing.T) {
	t.Parallel()
	for state, want := range map[runs.State]bool{
		runs.StateAccepted: false, intake.StateSpooled: false,
		runs.StateProcessing: true, runs.StateProcessed: true, runs.StateDead: true,
	} {
		require.Equal(t, want, isDuplicate(runs.Started{State: state}), state)
		require.False(t, isDuplicate(runs.Started{State: state, Conflict: &event.Conflict{}}), state)
	}
}
