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

// learn adapts the lead to the outcomes of attempts. Attempts that were delayed by one stall return in several batches; each asks
// for twice the lead that its attempts had, so the lead doubles once.
func (l *lead) learn(settled []delivery.Settled) {
	var wanted time.Duration
	timed := false
	for _, s := range settled {
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
