package delivery

import (
	"math"
	"time"

	"holdfast/event"
)

// MaxLate is how late an attempt of a rate-limited destination may start.
const MaxLate = 100 * time.Millisecond

// Spacing is the time between two starts. It allows for one late start, so that no period of Per has more than Requests, unless
// Per is shorter than ten times MaxLate.
func (r Rate) Spacing() time.Duration {
	per := time.Duration(r.Per)
	requests := time.Duration(r.Requests)
	return (per + min(MaxLate, per/10) + requests - 1) / requests
}

const (
	maxRequests = 1_000_000
	maxSeconds  = 60
)

// PerSecond returns the attempts per second that the rate allows; 0 means unlimited.
func (d Destination) PerSecond() float64 {
	if d.Rate == nil || d.Rate.Per <= 0 {
		return 0
	}
	return float64(d.Rate.Requests) / time.Duration(d.Rate.Per).Seconds()
}

// RateOf returns a rate in attempts per second; nil if out of bounds. It keeps a fraction if some period of up to a minute has a
// whole number of attempts (2.5 is 5 in 2 s), and rounds down otherwise.
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
