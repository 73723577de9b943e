package delivery

import "time"

// Recent says how the last deliveries of a destination that have ended went.
type Recent struct {
	DestinationID int64
	// Ended counts those that were looked at, and Delivered those of them that the receiver has taken.
	Ended, Delivered int64
	// P95 is how long, in milliseconds, 95 of 100 deliveries that were taken lasted at most; 0 where there is none.
	P95 int
	// LastAt is when the last of them ended.
	LastAt time.Time
}

// Success is the share of those that the receiver has taken, of those that have ended; 0 where none has.
func (r Recent) Success() float64 {
	if r.Ended == 0 {
		return 0
	}
	return float64(r.Delivered) / float64(r.Ended)
}
