package activities

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.temporal.io/sdk/testsuite"

	"holdfast/event"
)

// fullLane has batches of given sizes waiting, each of which takes a while.
type fullLane struct {
	sizes []int
	takes time.Duration
	fails error // of the batch behind the last one
	// change makes the events of a batch others than processed ones; nil for none.
	change func([]event.Batched)

	done []event.Batched
}

func (l *fullLane) ProcessBatch(context.Context, int, event.Run, event.Parser) ([]event.Batched, error) {
	<-time.After(l.takes)
	if len(l.sizes) == 0 {
		return nil, l.fails
	}
	events := make([]event.Batched, l.sizes[0])
	for i := range events {
		id := uuid.NewString()
		events[i] = event.Batched{Receipt: event.Receipt{ID: id, Provider: "stripe", Key: id}, Outcome: event.OutcomeProcessed}
	}
	if l.change != nil {
		l.change(events)
	}
	l.sizes, l.done = l.sizes[1:], append(l.done, events...)
	return events, nil
}

// gatherFor is how long the lane gathers events behind a batch that was small.
const gatherFor = 20 * time.Millisecond

func (l *fullLane) Gather(ctx context.Context, until time.Time) bool {
	_ = Pause(ctx, gatherFor)
	return time.Now().Before(until)
}

func (l *fullLane) BatchedBy(context.Context, event.Run) ([]event.Batched, error) { return l.done, nil }

// runBatches runs the activity with batches of at most 10, and gives how long it took.
func runBatches(t *testing.T, l *fullLane) (result BatchResult, took time.Duration, err error) {
	t.Helper()
	var suite testsuite.WorkflowTestSuite
	env := suite.NewTestActivityEnvironment()
	a := &Activities{Batches: l, Lane: l}
	env.RegisterActivity(a)
	start := time.Now()
	value, err := env.ExecuteActivity(a.ProcessInboxBatch, 10)
	if err == nil {
		err = value.Get(&result)
	}
	return result, time.Since(start), err
}

// A run has one transaction after the other until none waits, a number of events or a time.
func TestTransactionsOfARun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		empty, took, err := runBatches(t, &fullLane{})
		require.NoError(t, err)
		require.Zero(t, empty.Claimed)
		require.Zero(t, took)

		full := &fullLane{sizes: []int{10, 10, 10, 10, 10, 10, 10}}
		result, took, err := runBatches(t, full)
		require.NoError(t, err)
		require.Equal(t, 60, result.Claimed)
		require.Len(t, result.Events, 60)
		require.Zero(t, took, "there is no pause behind full ones")

		few, took, err := runBatches(t, &fullLane{sizes: []int{1, 5, 2}})
		require.NoError(t, err)
		require.Equal(t, 8, few.Claimed)
		require.Equal(t, 3*gatherFor, took, "behind the first and the last, and behind a look that found none")

		slow := &fullLane{sizes: []int{5, 5, 5, 5, 5}, takes: runFor / 2}
		late, _, err := runBatches(t, slow)
		require.NoError(t, err)
		require.Equal(t, 10, late.Claimed)
	})
}

// A run that fails behind a transaction that has committed tells of that in its next attempt, and takes nothing more.
func TestRunReportsItsCommits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := &fullLane{sizes: []int{10, 3}, fails: errors.New("the database is away")}
		_, _, err := runBatches(t, l)
		require.Error(t, err)
		l.sizes = []int{7}
		result, _, err := runBatches(t, l)
		require.NoError(t, err)
		require.Equal(t, 13, result.Claimed)
		require.Equal(t, []int{7}, l.sizes)
	})
}

// The look that ends a run is no batch.
func TestALookThatFindsNoneIsNotCounted(t *testing.T) { //nolint:paralleltest // it sets the meters of the process
	reader := meters()
	before := batchesIn(t, reader)
	synctest.Test(t, func(t *testing.T) {
		_, _, err := runBatches(t, &fullLane{sizes: []int{1}})
		require.NoError(t, err)
	})
	require.Equal(t, before+1, batchesIn(t, reader))
}

// batchesIn is how many batches were counted.
func batchesIn(t *testing.T, reader *metric.ManualReader) (count uint64) {
	t.Helper()
	var all metricdata.ResourceMetrics
	require.NoError(t, reader.Collect(t.Context(), &all))
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			if m.Name == "holdfast_batch_size" {
				count += m.Data.(metricdata.Histogram[int64]).DataPoints[0].Count
			}
		}
	}
	return count
}
