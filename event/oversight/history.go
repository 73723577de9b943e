package oversight

import (
	"time"

	"holdfast/event"
)

const (
	// MinStep is the length of the buckets in which history is counted.
	MinStep = 5 * time.Minute
	// KeptHistory is how long history is kept.
	KeptHistory = 30 * 24 * time.Hour
	// maxSteps is up to how many buckets a chart has, and one more: it begins with a whole one.
	maxSteps = 48
)

// steps are the lengths that buckets of a chart may have. Each is a multiple of MinStep, and divides a day.
var steps = []time.Duration{
	MinStep, 10 * time.Minute, 30 * time.Minute, time.Hour, 4 * time.Hour, 12 * time.Hour, 24 * time.Hour,
}

// Span is the time range of a chart: from Since to before Until, in buckets of Step that begin at its multiples in UTC.
type Span struct {
	Since time.Time      `json:"since"`
	Until time.Time      `json:"until"`
	Step  event.Duration `json:"width"`
}

// SpanOf returns the span of whole buckets around a time range. It begins at most KeptHistory before now; a zero until is now,
// and a zero since is a day before until. ok is false if nothing is kept of the range.
func SpanOf(since, until, now time.Time) (s Span, ok bool) {
	if until.IsZero() || until.After(now) {
		until = now
	}
	if since.IsZero() {
		since = until.Add(-24 * time.Hour)
	}
	if oldest := now.Add(-KeptHistory); since.Before(oldest) {
		since = oldest
	}
	if !since.Before(until) {
		return s, false
	}
	step, length := steps[len(steps)-1], until.Sub(since).Truncate(time.Minute) // "24h ago" was some time before now
	for _, wider := range steps {
		if length <= maxSteps*wider {
			step = wider
			break
		}
	}
	s = Span{Since: since.UTC().Truncate(step), Until: until.UTC().Truncate(step), Step: event.Duration(step)}
	if s.Until.Before(until) {
		s.Until = s.Until.Add(step)
	}
	return s, true
}

// EventBucket counts the events that were accepted in a step from At on, by their results until now. An event that failed and was
// replayed has both results.
type EventBucket struct {
	At        time.Time `json:"at"`
	Processed int64     `json:"processed"`
	Ignored   int64     `json:"ignored"`
	Dead      int64     `json:"dead"`
}

// EventHistory counts events over time.
type EventHistory struct {
	Span

	// Buckets are those with events, oldest first.
	Buckets []EventBucket `json:"buckets"`
}

// DeliveryBucket counts the attempts of deliveries to a destination that ended in a step from At on. What doesn't count against
// the destination isn't counted, such as the answer 429.
type DeliveryBucket struct {
	At                time.Time
	Succeeded, Failed int64
	// Milliseconds is how long the attempts took together.
	Milliseconds int64
}

// Attempts returns how many attempts ended.
func (b DeliveryBucket) Attempts() int64 { return b.Succeeded + b.Failed }

// Success returns Succeeded/Attempts; 0 without any.
func (b DeliveryBucket) Success() float64 {
	return float64(b.Succeeded) / float64(max(b.Attempts(), 1))
}

// Mean returns how long an attempt took on average, in milliseconds.
func (b DeliveryBucket) Mean() int64 { return b.Milliseconds / max(b.Attempts(), 1) }
