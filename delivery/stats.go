package delivery

import "time"

// Stats counts open deliveries and the states of destinations.
type Stats struct {
	// Open counts open deliveries by status: pending, processing, retrying.
	Open []OpenCount `json:"open"`
	// Breakers and States count destinations.
	Breakers map[BreakerState]int64     `json:"breakers"`
	States   map[DestinationState]int64 `json:"states"`
	// Troubled names failing destinations, longest first, at most MaxTroubled. TroubledBreakers has their breakers.
	Troubled         []string                `json:"troubled,omitempty"`
	TroubledBreakers map[string]BreakerState `json:"-"`
	// DeadLetters counts unresolved dead letters of deliveries.
	DeadLetters int64 `json:"dead_letters"`
	// OldestSecret is when the oldest stored secret was set. Secrets in variables have no age.
	OldestSecret *time.Time `json:"oldest_secret,omitempty"`
}

// MaxTroubled bounds Stats.Troubled.
const MaxTroubled = 20

// OpenCount counts open deliveries; Oldest is when the oldest was queued.
type OpenCount struct {
	Status Status     `json:"status"`
	Count  int64      `json:"count"`
	Oldest *time.Time `json:"oldest,omitempty"`
}
