package plot

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A plot shows its highest point and the time of it, also after thinning.
func TestAPlotSaysWhenItPeaked(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 25, 9, 0, 0, 0, time.UTC)
	values := make([]*float64, 720)
	for i := range values {
		v := 1.0
		if i == 360 {
			v = 7
		}
		values[i] = &v
	}
	history := func(string, time.Duration) (time.Duration, []Series) {
		return 5 * time.Second, []Series{{Name: "holdfast_inbox_depth", Values: values}}
	}
	for _, p := range all(history, time.Hour, now) {
		if p.Title != "Waiting in the inbox" {
			require.Zero(t, p.PeakAt)
			continue
		}
		require.Equal(t, "7", p.Highest())
		require.WithinDuration(t, now.Add(-30*time.Minute), p.PeakAt, 30*time.Second)
	}
}
