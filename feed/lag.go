package feed

import "time"

// Lag is how far the feed is behind what has been committed: each transaction that writes holds back what others tell until it
// ends, so that nothing of it is missed.
type Lag struct {
	// Behind is how long the first change waits that cannot be read yet; 0 where none does.
	Behind time.Duration
	// Holders are the oldest transactions that write, as far as the role may see them.
	Holders []Holder
}

// Holder is a transaction that has not ended.
type Holder struct {
	PID         int
	Database    string
	Role        string
	Application string
	Since       time.Time
	// Prepared is the name of a prepared transaction, which has no process.
	Prepared string
}
