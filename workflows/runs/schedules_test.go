package runs

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"

	"holdfast/event"
	"holdfast/event/oversight"
)

// A schedule has a problem if an operator must act: it is paused, its run has failed or hangs, or no run is scheduled.
func TestTheTroubleOfASchedule(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 15, 4, 5, 0, time.UTC)
	at := func(ago time.Duration) *time.Time { moment := now.Add(-ago); return &moment }
	for _, c := range []struct {
		name  string
		stats oversight.ScheduleStats
		state client.ScheduleState
		want  string
	}{
		{"it has just run", oversight.ScheduleStats{LastRun: "completed", LastAt: at(0)}, client.ScheduleState{}, ""},
		{"it works for as long as it may", oversight.ScheduleStats{LastRun: "running", LastAt: at(15 * time.Minute)}, client.ScheduleState{}, ""},
		{"its run hangs", oversight.ScheduleStats{LastRun: "running", LastAt: at(16 * time.Minute)}, client.ScheduleState{},
			"its run has been open for more than 3 intervals"},
		{"its run has failed", oversight.ScheduleStats{LastRun: "failed", LastAt: at(0)}, client.ScheduleState{}, "the last run has failed"},
		{"somebody has paused it", oversight.ScheduleStats{}, client.ScheduleState{Paused: true, Note: "upgrade"}, "paused: upgrade"},
	} {
		c.stats.Every, c.stats.NextAt = event.Duration(5*time.Minute), at(-time.Minute)
		require.Equal(t, c.want, troubleOf(c.stats, &c.state, now), c.name)
	}
	require.Equal(t, "the next run is overdue", troubleOf(oversight.ScheduleStats{NextAt: at(2 * time.Minute)}, nil, now))
	require.Equal(t, "no further run is scheduled", troubleOf(oversight.ScheduleStats{}, nil, now))
}
