package retention

import (
	"maps"
	"time"
)

// Kind is a kind of data with a retention period.
type Kind string

// The kinds of data.
const (
	// Events are processed events with their bodies, by the time of their last run. Deleting them doesn't change the state of
	// entities.
	Events Kind = "events"
	// DeadLetters are resolved or discarded dead letters; others are never deleted by age.
	DeadLetters Kind = "dead_letters"
	Errors      Kind = "error_log"
	Audit       Kind = "audit_log"
	// Keys are idempotency keys, by the end of their dedupe window.
	Keys Kind = "idempotency_keys"
	// Changes is the change feed, deleted in whole days.
	Changes Kind = "changes"
)

// All lists all kinds in the order of deletion.
func All() []Kind {
	return []Kind{Events, DeadLetters, Errors, Audit, Keys, Changes}
}

// keyMargin is the extra time for which a key is kept after its window, to allow for clock skew and concurrent claims.
const keyMargin = time.Hour

// Times holds retention periods; 0 means forever.
type Times map[Kind]time.Duration

// Until returns the time before which data is deleted; ok is false if it is kept forever.
func (t Times) Until(k Kind, now time.Time) (until time.Time, ok bool) {
	if k == Keys {
		return now.Add(-keyMargin), true
	}
	return now.Add(-t[k]), t[k] > 0
}

// runMargin is the min time between Temporal's retention and ours: Temporal takes up to half an hour to delete a run, and clocks
// differ.
const runMargin = time.Hour

// OutlastingRuns extends the retention of events until Temporal has deleted their runs: resetting a run would store and deliver a
// purged event again.
func (t Times) OutlastingRuns(kept time.Duration) Times {
	if t[Events] == 0 || t[Events] >= kept+runMargin {
		return t
	}
	t = maps.Clone(t)
	t[Events] = kept + runMargin
	return t
}
