package delivery

import "time"

// Stats counts open deliveries and the states of destinations.
type Stats struct {
	// Open counts open deliveries by status: pending, processing, retrying.
	Open []OpenCount `json:"open"`
	// Breakers and States count destinations.
	Breakers map[BreakerState]int64     `json:"breakers"`
	States   map[DestinationState]int64 `json:"states"`
	// Failing names failing destinations, longest first, at most MaxFailing. FailingBreakers has their breakers.
	Failing         []string                `json:"troubled,omitempty"`
	FailingBreakers map[string]BreakerState `json:"-"`
	// DeadLetters counts unresolved dead letters of deliveries.
	DeadLetters int64 `json:"dead_letters"`
	// OldestSecret is when the oldest stored secret was set. Secrets in variables have no age.
	OldestSecret *time.Time `json:"oldest_secret,omitempty"`
}

// MaxFailing bounds Stats.Failing.
const MaxFailing = 20

// OpenCount counts open deliveries; Oldest is when the oldest was queued.
type OpenCount struct {
	Status Status     `json:"status"`
	Count  int64      `json:"count"`
	Oldest *time.Time `json:"oldest,omitempty"`
}
