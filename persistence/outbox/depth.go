package outbox

import (
	"sync/atomic"

	"holdfast/delivery"
)

// depth is how many deliveries the destinations of the last lease have given, each. A lease that looks at no more destinations
// than it takes to fill it spares the others a lock, a count and a write. The zero value is ready to use.
type depth struct{ each atomic.Int64 }

// destinations is how many to look at for so many deliveries: twice those that it takes if each has as much as the last ones.
func (d *depth) destinations(limit int) int {
	enough := 2 * int64(limit) / max(1, d.each.Load())
	return int(min(int64(limit), maxDestinations, max(enough, fewDestinations)))
}

// learn is called with what a lease has given.
func (d *depth) learn(jobs []delivery.Job) {
	of := map[int64]struct{}{}
	for _, j := range jobs {
		of[j.DestinationID] = struct{}{}
	}
	d.each.Store(int64(len(jobs) / max(1, len(of))))
}
