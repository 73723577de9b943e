package operation_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/event/operation"
)

func TestTheShareOfARebuild(t *testing.T) {
	t.Parallel()
	noon := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	r := operation.Rebuild{Base: operation.Base{State: operation.Running}, From: noon, Until: noon.Add(time.Hour)}
	require.Zero(t, r.Share())
	r.Reached = noon.Add(15 * time.Minute)
	require.InDelta(t, 0.25, r.Share(), 1e-9)
	require.Zero(t, operation.Rebuild{Base: operation.Base{State: operation.Running}, From: noon, Until: noon, Reached: noon}.Share())
	require.InDelta(t, 1, operation.Rebuild{Base: operation.Base{State: operation.Completed}}.Share(), 0)
}
