package delivery

import (
	"cmp"
	"fmt"
	"time"

	"holdfast/event"
	"holdfast/providers/definition"
)

// Policy returns the retry policy, with defaults.
func (d Destination) Policy() event.Policy {
	p := d.Retry.policy()
	p.Timeout, p.Jitter = d.Timeout, defaultJitter
	if d.Retry.Jitter != nil {
		p.Jitter = *d.Retry.Jitter
	}
	return p
}

func (r Retry) policy() event.Policy {
	delays := r.Schedule
	if r.isZero() {
		delays = DefaultSchedule()
	}
	if len(delays) > 0 {
		return event.Policy{Attempts: cmp.Or(r.Attempts, len(delays)+1), Delays: delays}
	}
	other := DispatcherRetry()
	return event.Policy{
		Attempts:        cmp.Or(r.Attempts, other.Attempts),
		InitialInterval: cmp.Or(r.Initial, other.Initial),
		Coefficient:     cmp.Or(r.Coefficient, other.Coefficient),
		MaximumInterval: cmp.Or(r.Maximum, other.Maximum),
	}
}

func (r Retry) isZero() bool {
	return len(r.Schedule) == 0 && r.Named == "" && r.Attempts == 0 && r.Initial == 0 && r.Coefficient == 0 && r.Maximum == 0 &&
		r.Jitter == nil
}

// maxRetryTime bounds the sum of the pauses, without the time of the attempts.
func maxRetryTime(p event.Policy) time.Duration {
	var all float64
	for n := 1; n < p.Attempts; n++ {
		all += float64(p.Pause(n)) * (1 + p.Jitter)
	}
	return time.Duration(min(all, float64(maxSpan)*maxAttempts))
}

func (d Destination) checkRetry(p *definition.Problems) {
	r := d.Retry
	between(p, "retry.attempts", r.Attempts, 0, maxAttempts)
	between(p, "retry.initial", r.Initial, 0, maxSpan)
	between(p, "retry.maximum", r.Maximum, 0, maxSpan)
	if r.Coefficient != 0 {
		between(p, "retry.coefficient", r.Coefficient, 1, 100)
	}
	if r.Jitter != nil {
		between(p, "retry.jitter", *r.Jitter, 0, 1)
	}
	p.OneOf("retry.named", r.Named, RetryDispatcher)
	if r.Schedule != nil {
		d.checkSchedule(p)
	}
}

func (d Destination) checkSchedule(p *definition.Problems) {
	r := d.Retry
	switch {
	case len(r.Schedule) == 0:
		p.Add("retry.schedule", "is an empty list: leave it out for the default, or set retry.attempts to 1 to try once")
		return
	case len(r.Schedule) >= maxAttempts:
		p.Add("retry.schedule", "has %d pauses: at most %d are allowed", len(r.Schedule), maxAttempts-1)
		return
	case r.Named != "" || r.Initial != 0 || r.Coefficient != 0 || r.Maximum != 0:
		p.Add("retry.schedule", "can't be combined with named, initial, coefficient or maximum")
	}
	fits := true
	for i, pause := range r.Schedule {
		fits = between(p, fmt.Sprintf("retry.schedule[%d]", i), pause, 0, maxSpan) && fits
	}
	// An out-of-bounds attempt count would make the sum too expensive.
	if !fits || r.Attempts > maxAttempts || d.Keep < 0 {
		return
	}
	if keep := cmp.Or(d.Keep, DefaultKeep); maxRetryTime(d.Policy()) > time.Duration(keep) {
		p.Add("retry.schedule", "takes longer than keep, %s: its last attempts would never be made", keep)
	}
}
