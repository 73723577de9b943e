package ingress

import (
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast/event"
	"holdfast/intake"
	"holdfast/runs"
)

// An event that came before is a duplicate to metrics, wherever the first one stands. One that only has its key is none.
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
