package operation

import "time"

// Edit replaces the body of a dead-lettered event by another one, as a new event.
type Edit struct {
	// DeadLetter is the number of the row.
	DeadLetter int64
	// EventID is the ID of the new event, a UUIDv7.
	EventID string
	// Body is the new body, byte for byte.
	Body []byte
}

// Cleanup selects the dead letters that are to be removed: only such as are resolved or discarded.
type Cleanup struct {
	// Before is the time before which a dead letter was resolved or discarded.
	Before time.Time
	// Provider restricts it to one provider; empty does not restrict.
	Provider string
	// Limit is the most that one call removes, 1 to MaxCleanup; 0 means MaxCleanup.
	Limit int
}

// MaxCleanup is the most dead letters that one transaction removes.
const MaxCleanup = 1000
