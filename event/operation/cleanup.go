package operation

import "time"

// Edit replaces a dead-lettered event with a new event.
type Edit struct {
	DeadLetter int64
	// EventID is the ID of the new event, a UUIDv7.
	EventID string
	Body    []byte
}

// Cleanup selects resolved or discarded dead letters to delete.
type Cleanup struct {
	// Before is the time before which a dead letter was resolved or discarded.
	Before time.Time
	// Provider selects one provider; empty selects all.
	Provider string
	// Limit is the max number of deletions in one call, 1 to MaxCleanup; 0 means MaxCleanup.
	Limit int
}

// MaxCleanup is the max number of deletions in one transaction.
const MaxCleanup = 1000
