package runs

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
)

// startedRuns stands in for a Temporal whose open runs were started at some times: real ones can't be weeks old.
type startedRuns struct {
	client.Client

	starts []time.Time
	asked  int
}

func (s *startedRuns) CountWorkflow(
	_ context.Context, r *workflowservice.CountWorkflowExecutionsRequest,
) (*workflowservice.CountWorkflowExecutionsResponse, error) {
	s.asked++
	_, text, found := strings.Cut(r.GetQuery(), " AND StartTime < '")
	before, err := time.Parse(time.RFC3339Nano, strings.TrimSuffix(text, "'"))
	if !found || err != nil {
		return nil, fmt.Errorf("%s: %w", r.GetQuery(), err)
	}
	var n int64
	for _, start := range s.starts {
		if start.Before(before) {
			n++
		}
	}
	return &workflowservice.CountWorkflowExecutionsResponse{Count: n}, nil
}

// Of more open runs than a page holds, the page has the oldest, which Temporal lists last.
func TestTheOldestOpenRunsAreSeparated(t *testing.T) {
	t.Parallel()
	now := time.Now()
	old := now.Add(-9 * 24 * time.Hour)
	s := &startedRuns{starts: []time.Time{old, old.Add(time.Minute)}}
	for i := range 1000 {
		s.starts = append(s.starts, now.Add(-time.Hour+time.Duration(i)*time.Second))
	}
	before, err := NewReader(s, nil).oldestBefore(t.Context(), now, 10)
	require.NoError(t, err)
	require.True(t, before.After(old.Add(time.Minute)))
	require.True(t, before.Before(now.Add(-time.Hour)))
	require.LessOrEqual(t, s.asked, maxHalvings)

	burst := &startedRuns{starts: s.starts[2:]}
	before, err = NewReader(burst, nil).oldestBefore(t.Context(), now, 10)
	require.NoError(t, err)
	require.True(t, before.After(burst.starts[0]), "there is something before it")
}
