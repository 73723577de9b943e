package loadgen

import (
	"bytes"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"holdfast/internal/ledger"
)

// The range and precision of histograms: 1 µs to 2 min, in three digits over the run and two within a second.
const (
	shortest    = 1
	longest     = int64(2 * time.Minute / time.Microsecond)
	runDigits   = 3
	secondDigit = 2
)

// record aggregates answers as they come.
type record struct {
	mu      sync.Mutex
	started time.Time
	counts  Counts
	latency *hdrhistogram.Histogram
	// second is the histogram of the current second, which is the last of seconds.
	second  *hdrhistogram.Histogram
	seconds []Second
	err     string // the first
}

func newRecord(started time.Time) *record {
	return &record{
		started: started,
		counts:  Counts{Statuses: map[int]int64{}, Kinds: map[ledger.Kind]int64{}},
		latency: hdrhistogram.New(shortest, longest, runDigits),
		second:  hdrhistogram.New(shortest, longest, secondDigit),
	}
}

// answer is the result of one request.
type answer struct {
	kind   ledger.Kind
	events int
	status int // ledger.NoAnswer for an error
	err    error
	body   []byte
	// at is the time of the answer, and took is measured from when the request was due.
	at   time.Time
	took time.Duration
}

var (
	acceptedMark = []byte(`"status":"accepted"`)
	spooledMark  = []byte(`"status":"spooled"`)
	eventMark    = []byte(`"workflow_id":`)
)

func (r *record) add(a *answer) {
	accepted, spooled, known := 0, 0, 0
	if ledger.OutcomeOf(a.status) == ledger.OutcomeOK {
		known = bytes.Count(a.body, eventMark)
		accepted, spooled = bytes.Count(a.body, acceptedMark), bytes.Count(a.body, spooledMark)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.counts.Requests++
	r.counts.Events += int64(a.events)
	r.counts.Kinds[a.kind]++
	r.counts.Accepted += int64(accepted)
	r.counts.Spooled += int64(spooled)
	r.counts.Duplicates += int64(known - accepted - spooled)
	r.turn(a.at)
	second := &r.seconds[len(r.seconds)-1]
	second.Requests++
	if a.status == ledger.NoAnswer {
		r.counts.NoAnswer++
		if r.err == "" && a.err != nil {
			r.err = a.err.Error()
		}
		return
	}
	r.counts.Statuses[a.status]++
	if ledger.OutcomeOf(a.status) == ledger.OutcomeOK {
		r.counts.OK++
		second.OK++
	}
	micros := min(max(a.took.Microseconds(), shortest), longest)
	_ = r.latency.RecordValue(micros) // within the range
	_ = r.second.RecordValue(micros)
}

// turn begins a new second when it is due. An answer that the lock delays counts in the current second.
func (r *record) turn(now time.Time) {
	for int(now.Sub(r.started)/time.Second) >= len(r.seconds) {
		r.endSecond()
		r.seconds = append(r.seconds, Second{At: len(r.seconds)})
	}
	if len(r.seconds) == 0 {
		r.seconds = append(r.seconds, Second{})
	}
}

func (r *record) endSecond() {
	if len(r.seconds) == 0 || r.second.TotalCount() == 0 {
		return
	}
	last := &r.seconds[len(r.seconds)-1]
	last.P50, last.P99, last.Max = at(r.second, 50), at(r.second, 99), micros(r.second.Max())
	r.second.Reset()
}

func (r *record) snapshot() Counts {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.counts.clone()
}
