package suite

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/bench/lab"
)

func TestIdleUseIsSubtracted(t *testing.T) {
	t.Parallel()
	i := Idle{lab.LabelTemporal: 0.05, lab.LabelHoldfast: 0.5}
	used := lab.Usage{lab.LabelTemporal: 3 * time.Second, lab.LabelHoldfast: time.Second, lab.LabelBackground: time.Second}
	require.Equal(t, lab.Usage{lab.LabelTemporal: 2500 * time.Millisecond, lab.LabelHoldfast: 0, lab.LabelBackground: time.Second},
		i.leaveOut(used, 10*time.Second))
	require.Equal(t, lab.Usage{lab.LabelTemporal: time.Second}, Idle(nil).leaveOut(lab.Usage{lab.LabelTemporal: time.Second}, time.Hour))
}
