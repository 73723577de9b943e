package operations

import (
	"context"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast/event"
	"holdfast/event/operation"
)

// staleRedrives stands in for Temporal and the store: a test can't have a thousand runs that are open for a quarter of an hour.
type staleRedrives struct {
	SweepStore
	RunStarter

	letters  []event.DeadLetter
	open     map[string]bool // by workflow ID
	released []int64
}

func (s *staleRedrives) StaleRedrives(_ context.Context, after int64, n int) (page []event.DeadLetter, err error) {
	for _, d := range s.letters {
		if d.ID > after && len(page) < n {
			page = append(page, d)
		}
	}
	return page, nil
}

func (s *staleRedrives) LatestRun(_ context.Context, workflowID string) (operation.LatestRun, error) {
	return operation.LatestRun{EventID: workflowID, Open: s.open[workflowID]}, nil
}

func (s *staleRedrives) ReleaseStale(_ context.Context, id int64) error {
	s.released = append(s.released, id)
	return nil
}

// More dead letters than a page has runs that are still open:
//   - those behind them, whose runs were never started, are released in the same sweep
func TestOpenRunsKeepNoOtherFromItsRelease(t *testing.T) {
	t.Parallel()
	s := &staleRedrives{open: map[string]bool{}}
	for id := range int64(2*released + 2) {
		d := event.DeadLetter{ID: id + 1, Receipt: event.Receipt{Provider: "p", Key: strconv.FormatInt(id+1, 10)}}
		d.Receipt.ID = d.Receipt.WorkflowID()
		s.letters = append(s.letters, d)
		s.open[d.Receipt.WorkflowID()] = d.ID <= 2*released
	}
	n, err := (&Activities{Starter: s, Sweeps: s}).ReleaseRedrives(t.Context())
	require.NoError(t, err)
	require.Equal(t, 2, n)
	require.Equal(t, []int64{2*released + 1, 2*released + 2}, s.released)
}
