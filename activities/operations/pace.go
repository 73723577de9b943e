package operations

import (
	"context"
	"time"

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
