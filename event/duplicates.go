package event

import "time"

// Duplicates say how often an event came again. What came in the last seconds may be missing, and what a process had counted when
// it was killed is.
type Duplicates struct {
	Times     int64     `json:"times"`
	FirstSeen time.Time `json:"first_seen"`
	LastSeen  time.Time `json:"last_seen"`
}

// Duplicate is an event that came again.
type Duplicate struct {
	Provider, Key string
	// Owner is the ID of the event that has the key; "" where that is not known.
	Owner string
	At    time.Time
}
