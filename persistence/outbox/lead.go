package outbox

import (
	"sync/atomic"
	"time"

	"holdfast/delivery"
)

// lead is how long after its lease an attempt of a destination with a rate starts at the earliest. It grows where attempts miss
// their start times, as with a database that is far away, and shrinks slowly. The zero value is ready to use.
type lead struct{ nanoseconds atomic.Int64 }

// maxLead bounds it.
const maxLead = 5 * time.Second

func (l *lead) get() time.Duration { return time.Duration(l.nanoseconds.Load()) }

// learn is called with the outcomes of attempts.
func (l *lead) learn(settled []delivery.Settled) {
	timed, missed := false, false
	for _, s := range settled {
		timed = timed || !s.StartAt.IsZero()
		missed = missed || s.Code == delivery.CodeMissed
	}
	switch now := l.get(); {
	case missed:
		l.nanoseconds.Store(int64(min(2*now+delivery.MaxLate/2, maxLead)))
	case timed:
		l.nanoseconds.Store(int64(now - now/64))
	}
}
