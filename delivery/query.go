package delivery

import "time"

// Query selects deliveries, the newest event first. Empty fields do not restrict.
type Query struct {
	EventID        string
	SubscriptionID int64
	DestinationID  int64
	Status         Status
	// Open selects pending, processing and retrying deliveries, Undelivered also failed ones.
	Open, Undelivered bool
	// Since and Until bound when the event was accepted: Since ≤ time < Until.
	Since, Until time.Time
	// Before is the last delivery of the previous page; nil for the first page.
	Before *Key
	// Limit is 1 to event.MaxPage; 0 means event.MaxPage.
	Limit int
}

// MaxCanceled bounds how many pending deliveries one request cancels. Repeat the request to cancel more.
const MaxCanceled = 10_000
