package retention

import (
	"maps"
	"time"
)

// Kept is something that is kept for a time and then removed.
type Kept string

// What is kept.
const (
	// Events are events that have been processed, with their bodies, since their last run. The state of entities does not
	// change when they go.
	Events Kept = "events"
	// DeadLetters are dead letters that are resolved or discarded; the others are never removed by age.
	DeadLetters Kept = "dead_letters"
	Errors      Kept = "error_log"
	Audit       Kept = "audit_log"
	// Keys are idempotency keys whose dedupe window is over; their time is the end of it.
	Keys Kept = "idempotency_keys"
	// Changes is the change feed, which goes by the day.
	Changes Kept = "changes"
)

// All is everything that is kept for a time, in the order in which it is removed.
func All() []Kept {
	return []Kept{Events, DeadLetters, Errors, Audit, Keys, Changes}
}

// keyMargin is how long a key is kept beyond its window, because clocks differ and a claim may be under way.
const keyMargin = time.Hour

// Times say how long each of them is kept; 0 means for ever.
type Times map[Kept]time.Duration

// Until is the time before which what is kept is old enough to go; ok is false where it is kept for ever.
func (t Times) Until(k Kept, now time.Time) (until time.Time, ok bool) {
	if k == Keys {
		return now.Add(-keyMargin), true
	}
	return now.Add(-t[k]), t[k] > 0
}

// runMargin is how long an event stays after the retention of its run: Temporal takes up to half an hour longer to delete the
// run, and clocks differ.
const runMargin = time.Hour

// OutlastingRuns keeps events until Temporal, which keeps runs for a time, has deleted theirs: a run that is reset would store a
// purged event again, and deliver it again.
func (t Times) OutlastingRuns(kept time.Duration) Times {
	if t[Events] == 0 || t[Events] >= kept+runMargin {
		return t
	}
	t = maps.Clone(t)
	t[Events] = kept + runMargin
	return t
}
