package retention_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/event/retention"
)

// What is kept for a time may go once it is older, and what is kept for ever never. Keys have an end of their own, and an hour more.
func TestDataWithoutRetention(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)
	times := retention.Times{retention.Events: 48 * time.Hour}
	until, ok := times.Until(retention.Events, now)
	require.True(t, ok)
	require.Equal(t, now.Add(-48*time.Hour), until)
	_, ok = times.Until(retention.Audit, now)
	require.False(t, ok, "for ever")
	until, ok = times.Until(retention.Keys, now)
	require.True(t, ok)
	require.Equal(t, now.Add(-time.Hour), until)
}

// No event is purged while Temporal may still have its run, which could be reset. Only the time of events changes.
func TestEventsOutlastTheirRuns(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	for kept, want := range map[time.Duration]time.Duration{
		day: day + time.Hour, day + time.Hour - 1: day + time.Hour, day + time.Hour: day + time.Hour, 2 * day: 2 * day, 0: 0,
	} {
		times := retention.Times{retention.Events: kept, retention.Errors: time.Hour}
		outlasting := times.OutlastingRuns(day)
		require.Equal(t, retention.Times{retention.Events: want, retention.Errors: time.Hour}, outlasting, kept)
		require.Equal(t, kept, times[retention.Events], "the given times stay as they are")
	}
}
