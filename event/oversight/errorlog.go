package oversight

import (
	"time"

	"holdfast/event"
)

// ErrorEntry is one row of the error log: an error of any phase, whether or not it was overcome afterwards. Like every
// error text it holds no payload, header value or secret.
type ErrorEntry struct {
	// ID is the row's own number; 0 before it is stored.
	ID int64     `json:"id"`
	At time.Time `json:"at"`
	// Phase, Provider, Class and Code are what equal errors have in common: in a storm they share a row.
	Phase    event.Phase `json:"phase"`
	Provider string      `json:"provider,omitempty"`
	Class    event.Class `json:"class"`
	Code     string      `json:"code"`
	Message  string      `json:"message"`
	// EventID is the event that was worked on; empty where there is none, and in a row that stands for many.
	EventID string `json:"event_id,omitempty"`
	// Count is how many errors the row stands for, at least 1.
	Count int64 `json:"count"`
	// Meta says more: step, lane, attempt, run, request.
	Meta map[string]string `json:"meta,omitempty"`
	// Alert asks for a notification.
	Alert bool `json:"alert,omitempty"`
}

// ErrorQuery selects entries of the error log, newest first. Empty fields do not restrict.
type ErrorQuery struct {
	Phase    event.Phase
	Provider string
	// Source is the sender within the provider; it goes with Provider. It finds errors of single events.
	Source  string
	Class   event.Class
	Code    string
	EventID string
	// Since and Until bound the time: Since ≤ at < Until.
	Since, Until time.Time
	// Before is the ID of the last entry of the page before; 0 for the first page.
	Before int64
	// Limit is 1 to MaxPage; 0 means MaxPage.
	Limit int
}
