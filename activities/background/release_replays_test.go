package background

import (
	"context"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast/event"
	"holdfast/event/operation"
)

// staleReplays stands in for Temporal and the store: a test can't have a thousand runs that are open for a quarter of an hour,
// nor runs that have just ended, which lists of runs don't have yet.
type staleReplays struct {
	SweepStore
	RunStarter

	letters  []event.DeadLetter
	latest   map[string]operation.LatestRun // by workflow ID
	released []int64
}

func (s *staleReplays) StaleReplays(_ context.Context, after int64, n int) (page []event.DeadLetter, err error) {
	for _, d := range s.letters {
		if d.ID > after && len(page) < n {
			page = append(page, d)
		}
	}
	return page, nil
}

func (s *staleReplays) LatestRun(_ context.Context, workflowID string) (operation.LatestRun, error) {
	return s.latest[workflowID], nil
}

func (s *staleReplays) ReleaseStale(_ context.Context, id int64) error {
	s.released = append(s.released, id)
	return nil
}

// More dead letters than a page still have open runs:
//   - those after them, whose runs were never started, are released in the same sweep
func TestOpenRunsKeepNoOtherFromItsRelease(t *testing.T) {
	t.Parallel()
	s := &staleReplays{latest: map[string]operation.LatestRun{}}
	for id := range int64(2*releasePage + 2) {
		d := event.DeadLetter{ID: id + 1, Receipt: event.Receipt{Provider: "p", Key: strconv.FormatInt(id+1, 10)}}
		d.Receipt.ID = d.Receipt.WorkflowID()
		s.letters = append(s.letters, d)
		s.latest[d.Receipt.WorkflowID()] = operation.LatestRun{EventID: d.Receipt.ID, Open: d.ID <= 2*releasePage}
	}
	n, err := (&Activities{Starter: s, Sweeps: s}).ReleaseReplays(t.Context())
	require.NoError(t, err)
	require.Equal(t, 2, n)
	require.Equal(t, []int64{2*releasePage + 1, 2*releasePage + 2}, s.released)
}

// Dead letters have long been replaying:
//   - one whose run is gone or has failed waits again
//   - one with an open run is left to it
//   - one whose run an operator has just ended is left to the sweep of closed runs: with its old failure, the schedule would
//     claim it
func TestAReplayThatAnOperatorEndedIsNotReleased(t *testing.T) {
	t.Parallel()
	s := &staleReplays{latest: map[string]operation.LatestRun{}}
	for id, latest := range []operation.LatestRun{
		{},
		{Run: event.Run{RunID: "new"}, Status: "failed"},
		{Run: event.Run{RunID: "new"}, Open: true},
		{Run: event.Run{RunID: "new"}, Status: event.CodeTerminated},
		{Run: event.Run{RunID: "new"}, Status: event.CodeCanceled},
		{Run: event.Run{RunID: "dead"}, Status: event.CodeTerminated}, // its dead letter has that status already
	} {
		r := event.Receipt{ID: string(rune('a' + id)), Provider: "acme", Key: string(rune('a' + id))}
		if latest.EventID = r.ID; latest.Run.RunID == "" {
			latest.EventID = ""
		}
		s.letters = append(s.letters, event.DeadLetter{ID: int64(id) + 1, Receipt: r, Run: event.Run{RunID: "dead"}})
		s.latest[r.WorkflowID()] = latest
	}
	n, err := (&Activities{Starter: s, Sweeps: s}).ReleaseReplays(t.Context())
	require.NoError(t, err)
	require.Equal(t, 3, n)
	require.Equal(t, []int64{1, 2, 6}, s.released)
}
