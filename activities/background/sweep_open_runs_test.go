package background

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/event/operation"
	"holdfast/event/oversight"
)

// openRuns stands in for Temporal and the store: an open run whose code fails can't be made on demand.
type openRuns struct {
	RunReader
	SweepStore

	runs  []operation.OpenRun
	total int
}

func (o openRuns) OpenRuns(context.Context, time.Time, int) ([]operation.OpenRun, int, error) {
	return o.runs, o.total, nil
}

func (o openRuns) StoredEvents(context.Context, []string) (map[string]bool, error) {
	return map[string]bool{"stored": true}, nil
}

// Of six runs that have long been open, five could be examined: each one's most urgent reason is reported.
func TestOpenRunsAreReportedByReason(t *testing.T) {
	t.Parallel()
	world := openRuns{total: 6, runs: []operation.OpenRun{
		{EventID: "stored", TaskAttempts: 1},
		{EventID: "stored", TaskAttempts: 5},
		{EventID: "lost", TaskAttempts: 5},
		{EventID: "lost"},
		{},
	}}
	log := &sink{}
	counts, err := (&Activities{Runs: world, Sweeps: world, Errors: log}).SweepOpenRuns(t.Context(), time.Now())
	require.NoError(t, err)
	require.Equal(t, map[string]int{"slow": 1, "workflow_task": 2, "not_stored": 2, "unexamined": 1}, counts)
	told := map[string]int64{}
	for _, e := range log.entries {
		require.True(t, e.Alert)
		told[e.Code] = e.Count
	}
	require.Equal(t, map[string]int64{"stuck_workflow_task": 2, "stuck_not_stored": 2}, told, "what is only slow alarms nobody")
}

// sink collects the entries of an error log.
type sink struct{ entries []oversight.ErrorEntry }

func (s *sink) Record(e oversight.ErrorEntry) { s.entries = append(s.entries, e) }
