package operations

import (
	"context"
	"time"

	"go.temporal.io/sdk/activity"
)

const (
	// timeSliceLength is how long one time slice of a redrive starts runs before it returns to its workflow.
	timeSliceLength = 10 * time.Second
	// chunk is how many dead letters are claimed at a time. Claimed ones are started even if the redrive is paused meanwhile, and
	// they are held in memory with their bodies.
	chunk = 20
	// fullPause is the pause of a redrive at its limit of open runs.
	fullPause = 250 * time.Millisecond
)

// inFlight is how many runs of a redrive may be open at the same time: some seconds' worth, so that it can't flood the queue if
// workers or Temporal are slower than its rate, or the cause isn't fixed.
func inFlight(rate float64) int { return min(max(int(4*rate), 20), 500) }

func chunkFor(rate float64) int { return min(max(int(rate), 1), chunk) }

// timeSlice ends when its time is over, or when the worker stops.
type timeSlice struct {
	deadline time.Time
	stopping <-chan struct{}
}

func newTimeSlice(ctx context.Context) timeSlice {
	return timeSlice{deadline: time.Now().Add(timeSliceLength), stopping: activity.GetWorkerStopChannel(ctx)}
}

func (t timeSlice) over() bool {
	select {
	case <-t.stopping:
		return true
	default:
		return time.Now().After(t.deadline)
	}
}
