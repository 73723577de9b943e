package oversight

import (
	"time"

	"holdfast/event"
)

// ErrorEntry is a row of the error log. It includes errors that a retry solved. Its text contains no payload, header value or
// secret.
type ErrorEntry struct {
	ID int64     `json:"id"`
	At time.Time `json:"at"`
	// Phase, Provider, Class and Code group equal errors: in a storm they share a row.
	Phase    event.Phase `json:"phase"`
	Provider string      `json:"provider,omitempty"`
	Class    event.Class `json:"class"`
	Code     string      `json:"code"`
	Message  string      `json:"message"`
	// EventID is empty for errors without an event, and in a row for many errors.
	EventID string `json:"event_id,omitempty"`
	// Count is the number of errors, at least 1.
	Count int64 `json:"count"`
	// Meta has more context: step, lane, attempt, run, request.
	Meta map[string]string `json:"meta,omitempty"`
	// Alert requests a notification.
	Alert bool `json:"alert,omitempty"`
}

// ErrorQuery selects entries of the error log, newest first. Empty fields match everything.
type ErrorQuery struct {
	Phase    event.Phase
	Provider string
	// Source is the sender within Provider. It only matches errors of single events.
	Source  string
	Class   event.Class
	Code    string
	EventID string
	// Since and Until bound the time: Since ≤ at < Until.
	Since, Until time.Time
	// Before is the ID of the last entry on the previous page; 0 for the first page.
	Before int64
	// Limit is 1 to MaxPage; 0 means MaxPage.
	Limit int
}
