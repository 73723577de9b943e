package delivery

import "time"

// Stats is what waits to be delivered, and how the destinations do, as of one moment.
type Stats struct {
	// Open counts what has not ended, by status: pending, processing, retrying.
	Open []OpenCount `json:"open"`
	// Breakers and States count destinations.
	Breakers map[BreakerState]int64     `json:"breakers"`
	States   map[DestinationState]int64 `json:"states"`
	// Troubled are the names of destinations in trouble, those that have been so for longest first, at most MaxTroubled.
	// TroubledBreakers has the breaker of each.
	Troubled         []string                `json:"troubled,omitempty"`
	TroubledBreakers map[string]BreakerState `json:"-"`
	// DeadLetters counts deliveries that were given up and wait for somebody.
	DeadLetters int64 `json:"dead_letters"`
	// OldestSecret is since when the destination whose secret was changed least recently has it. Those of variables have no age.
	OldestSecret *time.Time `json:"oldest_secret,omitempty"`
}

// MaxTroubled bounds Stats.Troubled.
const MaxTroubled = 20

// OpenCount is a number of open deliveries; Oldest is when the first of them was queued.
type OpenCount struct {
	Status Status     `json:"status"`
	Count  int64      `json:"count"`
	Oldest *time.Time `json:"oldest,omitempty"`
}
