package operations

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast/event"
	"holdfast/event/operation"
)

// staleRedrives stands in for Temporal and the store: runs that have just ended, which lists of runs don't have yet.
type staleRedrives struct {
	RunStarter
	SweepStore

	stale    []event.DeadLetter
	latest   map[string]operation.LatestRun // by workflow ID
	released []int64
}

func (s *staleRedrives) StaleRedrives(context.Context, int) ([]event.DeadLetter, error) {
	return s.stale, nil
}

func (s *staleRedrives) LatestRun(_ context.Context, workflowID string) (operation.LatestRun, error) {
	return s.latest[workflowID], nil
}

func (s *staleRedrives) ReleaseStale(_ context.Context, id int64) error {
	s.released = append(s.released, id)
	return nil
}

// Dead letters have been redriving for long:
//   - one whose run is gone, or has failed, waits again
//   - one whose run is open is left to it
//   - one whose run an operator has just ended is left to the sweep of closed runs: with its old failure, the schedule would take it
func TestARedriveThatAnOperatorEndedIsNotReleased(t *testing.T) {
	t.Parallel()
	s := &staleRedrives{latest: map[string]operation.LatestRun{}}
	for id, latest := range []operation.LatestRun{
		{},
		{Run: event.Run{RunID: "new"}, Status: "failed"},
		{Run: event.Run{RunID: "new"}, Open: true},
		{Run: event.Run{RunID: "new"}, Status: event.CodeTerminated},
		{Run: event.Run{RunID: "new"}, Status: event.CodeCanceled},
		{Run: event.Run{RunID: "dead"}, Status: event.CodeTerminated}, // its dead letter says so already
	} {
		r := event.Receipt{ID: string(rune('a' + id)), Provider: "acme", Key: string(rune('a' + id))}
		if latest.EventID = r.ID; latest.Run.RunID == "" {
			latest.EventID = ""
		}
		s.stale = append(s.stale, event.DeadLetter{ID: int64(id), Receipt: r, Run: event.Run{RunID: "dead"}})
		s.latest[r.WorkflowID()] = latest
	}
	n, err := (&Activities{Starter: s, Sweeps: s}).ReleaseRedrives(t.Context())
	require.NoError(t, err)
	require.Equal(t, 3, n)
	require.Equal(t, []int64{0, 1, 5}, s.released)
}
