package delivery

import (
	"math"
	"time"

	"holdfast/event"
)

// MaxLate is how much later than its start time an attempt of a destination with a rate may start.
const MaxLate = 100 * time.Millisecond

// Spacing is the time between the start times of two attempts. It leaves room for one that starts late, so that no span of Per
// has more than Requests, unless Per is shorter than ten times MaxLate.
func (r Rate) Spacing() time.Duration {
	per := time.Duration(r.Per)
	requests := time.Duration(r.Requests)
	return (per + min(MaxLate, per/10) + requests - 1) / requests
}

// The bounds of a declared rate.
const (
	maxRequests = 1_000_000
	maxSeconds  = 60
)

// PerSecond is how many attempts a second the rate allows; 0 is no bound.
func (r *Rate) PerSecond() float64 {
	if r == nil || r.Per <= 0 {
		return 0
	}
	return float64(r.Requests) / time.Duration(r.Per).Seconds()
}

// RateOf is a rate of at most so many attempts a second; nil where no destination can have it. A fraction is kept where a span of
// up to a minute has a whole number of attempts (2.5 is 5 in 2 s), and else rounded down.
func RateOf(perSecond float64) *Rate {
	if !(perSecond >= 0.001 && perSecond <= maxRequests) {
		return nil
	}
	for seconds := 1; seconds <= maxSeconds; seconds++ {
		requests := perSecond * float64(seconds)
		if whole := math.Round(requests); whole >= 1 && whole <= maxRequests && math.Abs(requests-whole) < 1e-9*whole {
			return &Rate{Requests: int(whole), Per: event.Duration(seconds) * event.Duration(time.Second)}
		}
	}
	if requests := math.Floor(perSecond * maxSeconds); requests >= 1 && requests <= maxRequests {
		return &Rate{Requests: int(requests), Per: event.Duration(maxSeconds * time.Second)}
	}
	if perSecond >= 1 {
		return &Rate{Requests: int(perSecond), Per: event.Duration(time.Second)}
	}
	per := time.Duration(math.Ceil(1000/perSecond)) * time.Millisecond
	return &Rate{Requests: 1, Per: event.Duration(per)}
}
