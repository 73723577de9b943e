package outbox

import (
	"sync/atomic"

	"holdfast/delivery"
)

// depth is the average number of deliveries per destination in the last lease. A lease that checks only as many destinations as
// it needs saves a lock, a count and a write for each of the others. The zero value is ready to use.
type depth struct{ each atomic.Int64 }

// destinations returns how many destinations to check for a lease of limit deliveries: twice the number needed if each has as
// many as those of the last lease.
func (d *depth) destinations(limit int) int {
	enough := 2 * int64(limit) / max(1, d.each.Load())
	return int(min(int64(limit), maxDestinations, max(enough, fewDestinations)))
}

func (d *depth) learn(jobs []delivery.Job) {
	of := map[int64]struct{}{}
	for _, j := range jobs {
		of[j.DestinationID] = struct{}{}
	}
	d.each.Store(int64(len(jobs) / max(1, len(of))))
}
