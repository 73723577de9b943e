package loadgen

import (
	"math"
	"time"
)

// schedule says when each request is due, counted from the start. It is fixed before the run begins: however slow the
// receiver, no request is due later for it.
type schedule struct {
	rate float64 // a second, at the start; 0 means at once
	// slope is by how much the rate grows in a second, until end. From then on it stays.
	slope float64
	end   float64 // in seconds
}

func newSchedule(o Options) schedule {
	s := schedule{rate: o.Rate}
	if o.RateTo > 0 {
		s.end = o.Duration.Seconds()
		s.slope = (o.RateTo - o.Rate) / s.end
	}
	return s
}

// due is when request i begins, from 0.
func (s schedule) due(i int64) time.Duration {
	if s.rate == 0 {
		return 0
	}
	n := float64(i)
	if s.slope == 0 {
		return seconds(n / s.rate)
	}
	// By the time t there were rate·t + slope·t²/2 requests.
	if during := s.rate*s.end + s.slope*s.end*s.end/2; n > during {
		return seconds(s.end + (n-during)/(s.rate+s.slope*s.end))
	}
	// The root in the form that does not lose digits for a small slope.
	return seconds(2 * n / (s.rate + math.Sqrt(max(s.rate*s.rate+2*s.slope*n, 0))))
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
