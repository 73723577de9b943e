package frame

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A time is some seconds or more ago; what has just happened, or is about to, isn't given in milliseconds.
func TestTimesAgo(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
	for ago, says := range map[time.Duration]string{
		0: "just now", 763 * time.Millisecond: "just now", -763 * time.Millisecond: "just now", time.Second: "1s ago",
		-time.Second: "in 1s", 99 * time.Second: "99s ago", 100 * time.Second: "1m ago", 50 * time.Hour: "2d ago",
	} {
		require.Contains(t, string(agoElement(now.Add(-ago), now)), ">"+says+"</time>", ago)
	}
	require.Equal(t, string(element("none", nil)), string(agoElement(time.Time{}, now)))
}
