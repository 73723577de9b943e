package peers

import (
	"slices"
	"sync"
	"time"

	"holdfast/internal/ledger"
)

// sent records when which event was acknowledged. It is the ledger of the load generator.
type sent struct {
	mu    sync.Mutex
	ids   map[int64]string    // of requests without an answer
	at    map[int64]time.Time // when they were sent
	acked map[string]time.Time
}

func newSent() *sent {
	return &sent{ids: map[int64]string{}, at: map[int64]time.Time{}, acked: map[string]time.Time{}}
}

// Sending records a request; each has one event.
func (s *sent) Sending(seq int64, at time.Time, _ ledger.Kind, events []ledger.Event) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ids[seq], s.at[seq] = events[0].Key, at
	return nil
}

// Answered records the ACK of a request.
func (s *sent) Answered(seq int64, status int, took time.Duration) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if ledger.OutcomeOf(status) == ledger.OutcomeOK {
		s.acked[s.ids[seq]] = s.at[seq].Add(took)
	}
	delete(s.ids, seq)
	delete(s.at, seq)
	return nil
}

// outcome counts what happened to acknowledged events.
type outcome struct {
	Acknowledged int
	// Delivered counts events, however often they arrived, and Doubled the additional arrivals.
	Delivered int
	Lost      int
	Doubled   int
	// waits are the times from ACK to arrival, sorted.
	waits []time.Duration
}

func compare(acked map[string]time.Time, seen map[string]arrival) (o outcome) {
	o.Acknowledged = len(acked)
	for id, at := range acked {
		one, arrived := seen[id]
		if !arrived {
			o.Lost++
			continue
		}
		o.Delivered++
		o.Doubled += one.count - 1
		o.waits = append(o.waits, one.first.Sub(at))
	}
	slices.Sort(o.waits)
	return o
}

// quantile returns the wait that this share of all events doesn't exceed.
func (o outcome) quantile(share float64) time.Duration {
	if len(o.waits) == 0 {
		return 0
	}
	return o.waits[min(int(share*float64(len(o.waits))), len(o.waits)-1)]
}
