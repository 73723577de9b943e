package activities

import (
	"context"
	"time"
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

// wait ends when the next start may come. Time that starts have taken is made up for, but no more than one interval of it.
func (p *pace) wait(ctx context.Context) error {
	p.next = p.next.Add(p.interval)
	if behind := time.Now().Add(-p.interval); p.next.Before(behind) {
		p.next = behind
	}
	return pause(ctx, time.Until(p.next))
}

func pause(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
