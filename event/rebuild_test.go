package event_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/event"
)

func TestTheShareOfARebuild(t *testing.T) {
	t.Parallel()
	noon := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	r := event.Rebuild{State: event.OperationRunning, From: noon, Until: noon.Add(time.Hour)}
	require.Zero(t, r.Share())
	r.Reached = noon.Add(15 * time.Minute)
	require.InDelta(t, 0.25, r.Share(), 1e-9)
	require.Zero(t, event.Rebuild{State: event.OperationRunning, From: noon, Until: noon, Reached: noon}.Share())
	require.InDelta(t, 1, event.Rebuild{State: event.OperationCompleted}.Share(), 0)
}
