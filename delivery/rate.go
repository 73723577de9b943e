package delivery

import (
	"math"
	"time"

	"holdfast/event"
)

// RateOf is a rate of so many attempts a second; nil where that is none that a destination can have.
func RateOf(perSecond float64) *Rate {
	switch {
	case !(perSecond >= 0.001 && perSecond <= 1_000_000):
		return nil
	case perSecond >= 1:
		return &Rate{Requests: int(math.Round(perSecond)), Per: event.Duration(time.Second)}
	}
	per := time.Duration(float64(time.Second) / perSecond).Round(time.Millisecond)
	return &Rate{Requests: 1, Per: event.Duration(per)}
}
