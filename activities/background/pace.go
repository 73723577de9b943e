package background

import (
	"context"
	"time"

	"go.temporal.io/sdk/activity"

	"holdfast/activities"
)

// pace spaces starts evenly: a token bucket that holds one token. The pause comes after the start, so that the next activity
// may start something immediately.
type pace struct {
	interval time.Duration
	next     time.Time
}

func newPace(rate float64) *pace {
	return &pace{interval: time.Duration(float64(time.Second) / rate), next: time.Now()}
}

// wait blocks until the next start is due.
func (p *pace) wait(ctx context.Context) error { return p.waitFor(ctx, 1) }

// waitFor blocks until the next start is due after n at once. It makes up for the time that starts have taken, up to the
// interval of n.
func (p *pace) waitFor(ctx context.Context, n int) error {
	interval := time.Duration(n) * p.interval
	p.next = p.next.Add(interval)
	if behind := time.Now().Add(-interval); p.next.Before(behind) {
		p.next = behind
	}
	return activities.Pause(ctx, time.Until(p.next))
}

const (
	// timeSliceLength is how long one time slice of a replay starts runs before it returns to its workflow.
	timeSliceLength = 10 * time.Second
	// chunk is how many dead letters are claimed at a time. Claimed ones are started even if the replay is paused meanwhile, and
	// they are held in memory with their bodies.
	chunk = 20
	// fullPause is the pause of a replay at its limit of open runs.
	fullPause = 250 * time.Millisecond
)

// inFlight limits the open runs of a replay to what it starts in four seconds, so that it can't flood the queue if
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
