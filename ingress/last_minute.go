package ingress

import (
	"slices"
	"sync"
	"time"
)

const seconds = 60

// latencyBounds are the upper bounds of the latency buckets, in milliseconds; the last bucket has none.
var latencyBounds = []float64{1, 2.5, 5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000}

// lastMinute counts requests of the last minute, by second. Its memory is fixed.
type lastMinute struct {
	mu    sync.Mutex
	slots [seconds]second
}

type second struct {
	at                  int64 // in Unix seconds
	accepted, duplicate int64
	refused             map[string]int64 // by the code of the answer
	latency             [13]int64
	took                time.Duration // total time of all answers
}

// slot returns the second of now, emptied if it still holds the one of a minute ago.
func (m *lastMinute) slot(now time.Time) *second {
	at := now.Unix()
	s := &m.slots[at%seconds]
	if s.at != at {
		*s = second{at: at}
	}
	return s
}

func (m *lastMinute) events(now time.Time, accepted, duplicate int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.slot(now)
	s.accepted += int64(accepted)
	s.duplicate += int64(duplicate)
}

// answer counts an answer: how long it took and, for a refusal, the code.
func (m *lastMinute) answer(now time.Time, took time.Duration, reason string) {
	class, _ := slices.BinarySearch(latencyBounds, float64(took)/float64(time.Millisecond))
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.slot(now)
	s.latency[class]++
	s.took += took
	if reason == "" {
		return
	}
	if s.refused == nil {
		s.refused = map[string]int64{}
	}
	s.refused[reason]++
}

type lastMinuteSum struct {
	Accepted  int64            `json:"accepted"`
	Duplicate int64            `json:"duplicate"`
	Refused   map[string]int64 `json:"refused"`
	Requests  int64            `json:"requests"`
	// Rate is in requests per second.
	Rate    float64 `json:"rate_rps"`
	latency [13]int64
	took    time.Duration
}

func (m *lastMinute) sum(now time.Time) lastMinuteSum {
	sum := lastMinuteSum{Refused: map[string]int64{}}
	m.mu.Lock()
	defer m.mu.Unlock()
	for i := range m.slots {
		s := &m.slots[i]
		if now.Unix()-s.at >= seconds {
			continue
		}
		sum.Accepted += s.accepted
		sum.Duplicate += s.duplicate
		for reason, n := range s.refused {
			sum.Refused[reason] += n
		}
		sum.took += s.took
		for class, n := range s.latency {
			sum.latency[class] += n
			sum.Requests += n
		}
	}
	sum.Rate = float64(sum.Requests) / seconds
	return sum
}

// quantile returns a bound that the share q of all answers didn't exceed, in milliseconds; 0 if there were none. Slower answers
// than the last bound count as that.
func (s lastMinuteSum) quantile(q float64) float64 {
	rank := int64(q * float64(s.Requests))
	for class, n := range s.latency {
		if rank -= n; rank < 0 {
			return latencyBounds[min(class, len(latencyBounds)-1)]
		}
	}
	return 0
}

// average returns milliseconds; 0 if there were no answers.
func (s lastMinuteSum) average() float64 {
	if s.Requests == 0 {
		return 0
	}
	return float64(s.took) / float64(time.Millisecond) / float64(s.Requests)
}
