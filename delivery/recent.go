package delivery

import "time"

// Recent summarizes the last deliveries of a destination that have ended.
type Recent struct {
	DestinationID int64
	// Ended counts the deliveries in the sample, Delivered the successful ones.
	Ended, Delivered int64
	// P95 is the 95th percentile of the duration of successful deliveries, in milliseconds; 0 without any.
	P95    int
	LastAt time.Time
}

// Success returns Delivered/Ended; 0 without any.
func (r Recent) Success() float64 {
	if r.Ended == 0 {
		return 0
	}
	return float64(r.Delivered) / float64(r.Ended)
}
