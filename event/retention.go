package event

import "time"

// Kept is something that is kept for a time and then removed.
type Kept string

// What is kept.
const (
	// KeptEvents are events that have been processed, with their bodies. The state of entities does not change when they
	// go.
	KeptEvents Kept = "events"
	// KeptDeadLetters are dead letters that are resolved or discarded; the others are never removed by age.
	KeptDeadLetters Kept = "dead_letters"
	KeptErrors      Kept = "error_log"
	KeptAudit       Kept = "audit_log"
	// KeptKeys are idempotency keys whose dedupe window is over; their time is the end of it.
	KeptKeys Kept = "idempotency_keys"
	// KeptChanges is the change feed, which goes by the day.
	KeptChanges Kept = "changes"
)

// AllKept is everything that is kept for a time, in the order in which it is removed.
func AllKept() []Kept {
	return []Kept{KeptEvents, KeptDeadLetters, KeptErrors, KeptAudit, KeptKeys, KeptChanges}
}

// keyMargin is how long a key is kept beyond its window, because clocks differ and a claim may be under way.
const keyMargin = time.Hour

// Retention says how long each of them is kept; 0 means for ever.
type Retention map[Kept]time.Duration

// Until is the time before which what is kept is old enough to go; ok is false where it is kept for ever.
func (r Retention) Until(k Kept, now time.Time) (until time.Time, ok bool) {
	if k == KeptKeys {
		return now.Add(-keyMargin), true
	}
	return now.Add(-r[k]), r[k] > 0
}

// MaxCollapsed bounds Expunged.Collapsed.
const MaxCollapsed = 20

// Expunged says what was removed with one event.
type Expunged struct {
	EventID     string   `json:"event_id"`
	Provider    string   `json:"provider"`
	WorkflowIDs []string `json:"workflow_ids"`
	Events      int64    `json:"events"`
	DeadLetters int64    `json:"dead_letters"`
	Changes     int64    `json:"changes"`
	Errors      int64    `json:"errors"`
	// Waiting is 1 if it waited in the inbox.
	Waiting int64 `json:"waiting"`
	// Entities is how many entities were folded again, without the event.
	Entities int `json:"entities"`
	// Collapsed are entities whose base may hold what the event did, the first MaxCollapsed of them: retention had folded its
	// changes together with those of others received before and after it, and has not kept which. Their states are as they were.
	Collapsed []EntityRef `json:"collapsed,omitempty"`
	// ArchiveFiles is how many files of the archive may hold it.
	ArchiveFiles int64 `json:"archive_files,omitempty"`
	// Runs is how many runs Temporal was told to delete.
	Runs int `json:"runs"`
	// Earlier is set if the event had been expunged before: it says who did so, when and why.
	Earlier *Verdict `json:"earlier,omitempty"`
}
