package operations

import (
	"context"
	"time"

	"go.temporal.io/sdk/activity"
)

const (
	// turnTime is how long one turn of a redrive starts runs before its workflow hears of it.
	turnTime = 10 * time.Second
	// chunk is how many dead letters are taken at a time. What was taken is started even if the redrive is paused meanwhile,
	// and with their bodies they are held in memory.
	chunk = 20
	// fullPause is the pause of a redrive that has as many runs open as it may.
	fullPause = 250 * time.Millisecond
)

// inFlight is how many runs of a redrive may be open at the same time: some seconds' worth, so that workers or a Temporal
// that are slower than its rate, or a cause that is not gone, bound what it adds to the queue.
func inFlight(rate float64) int { return min(max(int(4*rate), 20), 500) }

// chunkFor is at most a second's worth.
func chunkFor(rate float64) int { return min(max(int(rate), 1), chunk) }

// turn is over when its time is, or when the worker stops.
type turn struct {
	deadline time.Time
	stopping <-chan struct{}
}

func newTurn(ctx context.Context) turn {
	return turn{deadline: time.Now().Add(turnTime), stopping: activity.GetWorkerStopChannel(ctx)}
}

func (t turn) over() bool {
	select {
	case <-t.stopping:
		return true
	default:
		return time.Now().After(t.deadline)
	}
}
