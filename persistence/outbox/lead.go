package outbox

import (
	"sync/atomic"
	"time"

	"holdfast/delivery"
)

// lead is how long after its lease an attempt of a destination with a rate starts at the earliest. It grows where attempts miss
// their start times, as with a database that is far away, and shrinks slowly. Processes that share a destination all use the
// longest lead among them (destination_states.lead): a process with a shorter one would miss each start time, because the others
// lease further ahead. The zero value is ready to use.
type lead struct{ nanoseconds atomic.Int64 }

// maxLead bounds it.
const maxLead = 5 * time.Second

func (l *lead) get() time.Duration { return time.Duration(l.nanoseconds.Load()) }

// learn adapts the lead to the outcomes of attempts. The attempts that one stall delays come back in several batches; each asks
// for twice the lead that the attempts had, so the lead doubles once.
func (l *lead) learn(settled []delivery.Settled) {
	var wanted time.Duration
	timed := false
	for _, s := range settled {
		timed = timed || !s.StartAt.IsZero()
		if s.Code == delivery.CodeMissed {
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
