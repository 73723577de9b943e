package outbox

import (
	"sync/atomic"
	"time"

	"holdfast/delivery"
)

// lead is the minimum time between the lease of an attempt and its start, for destinations with a rate. It grows when attempts
// miss their start times, as with a remote database, and shrinks slowly. Processes that share a destination all use the longest
// lead among them (destination_states.lead): a process with a shorter one would miss every start time, because the others lease
// further ahead. The zero value is ready to use.
type lead struct{ nanoseconds atomic.Int64 }

const maxLead = 5 * time.Second

func (l *lead) get() time.Duration { return time.Duration(l.nanoseconds.Load()) }

// learn adapts the lead to the outcomes of attempts. One stall can delay attempts of several batches. Each batch asks for about
// twice the lead that its own attempts had, not twice the present lead, so that a stall doubles the lead only once.
func (l *lead) learn(outcomes []delivery.Outcome) {
	var wanted time.Duration
	timed := false
	for _, s := range outcomes {
		timed = timed || !s.StartAt.IsZero()
		if s.Code == delivery.CodeLateStart {
			wanted = max(wanted, min(2*s.Lead+delivery.MaxLate/2, maxLead))
		}
	}
	switch now := l.get(); {
	case wanted > 0:
		l.nanoseconds.Store(int64(max(now, wanted)))
	case timed:
		l.nanoseconds.Store(int64(now - now/64))
	}
}

// depth is the average number of deliveries per destination in the last lease. A lease that checks only as many destinations as
// it needs saves a lock, a count and a write for each of the others. The zero value is ready to use.
type depth struct{ each atomic.Int64 }

// destinations returns how many destinations to check for a lease of limit deliveries: twice the number needed if each has as
// many as in the last lease.
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
