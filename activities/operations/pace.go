package operations

import (
	"context"
	"time"

	"holdfast/activities"
)

// pace spaces starts evenly: a token bucket that holds one token. The pause comes after the start, so that an activity
// which has ended has waited out its last one and the next activity may start at once.
type pace struct {
	interval time.Duration
	next     time.Time
}

func newPace(rate float64) *pace {
	return &pace{interval: time.Duration(float64(time.Second) / rate), next: time.Now()}
}

// wait ends when the next start may come.
func (p *pace) wait(ctx context.Context) error { return p.waitFor(ctx, 1) }

// waitFor ends when the next start may come after n at once. Time that starts have taken is made up for, but no more than that of
// n.
func (p *pace) waitFor(ctx context.Context, n int) error {
	interval := time.Duration(n) * p.interval
	p.next = p.next.Add(interval)
	if behind := time.Now().Add(-interval); p.next.Before(behind) {
		p.next = behind
	}
	return activities.Pause(ctx, time.Until(p.next))
}
