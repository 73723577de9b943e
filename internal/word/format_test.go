package word

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestCount(t *testing.T) {
	t.Parallel()
	for n, wanted := range map[int]string{0: "0 events", 1: "1 event", 2: "2 events"} {
		require.Equal(t, wanted, Count(n, "event", "events"))
	}
}

func TestAge(t *testing.T) {
	t.Parallel()
	for d, says := range map[time.Duration]string{
		0: "less than a second", 763 * time.Millisecond: "less than a second", 90*time.Second + time.Millisecond: "1m30s",
		time.Hour + 59*time.Second: "1h", 26*time.Hour + 5*time.Minute + time.Second: "26h5m", 49*time.Hour + 30*time.Minute: "49h",
	} {
		require.Equal(t, says, Age(d))
	}
}
