package feed

import "time"

// Lag is the delay of the feed. Each open transaction that writes delays the changes of later ones until it ends, so that readers
// miss nothing.
type Lag struct {
	// Behind is the age of the first unreadable change; 0 if there is none.
	Behind time.Duration
	// Blockers lists the oldest writing transactions that the role may see.
	Blockers []Blocker
}

// Blocker is an open transaction.
type Blocker struct {
	PID         int
	Database    string
	Role        string
	Application string
	Since       time.Time
	// Prepared is the name of a prepared transaction, which has no process.
	Prepared string
}
