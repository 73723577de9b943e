package loadgen

import (
	"math"
	"time"
)

// schedule has the due time of each request, counted from the start. It is fixed before the run begins: a slow target delays no
// due time.
type schedule struct {
	rate float64 // per second, at the start; 0 means unlimited
	// slope is the increase of the rate per second, until end. The rate is constant from then on.
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

// due returns when request i begins, from 0.
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
	// The form of the root that doesn't lose digits for a small slope.
	return seconds(2 * n / (s.rate + math.Sqrt(max(s.rate*s.rate+2*s.slope*n, 0))))
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
