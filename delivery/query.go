package delivery

import "time"

// Query selects deliveries, the newest event first. Empty fields do not restrict.
type Query struct {
	EventID        string
	SubscriptionID int64
	DestinationID  int64
	Status         Status
	// Open selects those that are pending, processing or retrying, Undelivered those and the failed: what was never delivered.
	Open, Undelivered bool
	// Since and Until bound when the event was accepted: Since ≤ time < Until.
	Since, Until time.Time
	// Before is the last delivery of the page before; nil for the first page.
	Before *Key
	// Limit is 1 to event.MaxPage; 0 means that.
	Limit int
}

// MaxCanceled bounds how many waiting deliveries one request cancels. The next request cancels the next ones.
const MaxCanceled = 10_000
