package proxy

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// One connection at a time probes a proxy that has failed, whatever others that began before do. One that shows nothing hands over.
func TestOneConnectionProbes(t *testing.T) {
	t.Parallel()
	now := time.Now()
	var h health
	begin := func() bool { failed, probes := h.begin(now); require.Equal(t, probes, failed == nil); return probes }
	h.end(&Error{}, now)
	require.False(t, begin())
	now = now.Add(restFor)
	require.True(t, begin())
	h.giveUp(false, now) // it began before the failure
	require.False(t, begin())
	h.giveUp(true, now)
	require.True(t, begin())
	require.False(t, begin())
	now = now.Add(restFor)
	require.True(t, begin(), "the last one waits for its target")
	h.end(nil, now)
	failed, probes := h.begin(now)
	require.Nil(t, failed)
	require.False(t, probes)
}
