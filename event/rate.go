package event

import "time"

// RateClaim takes from a rate that the processes of an installation share.
type RateClaim struct {
	// Name is that of the bucket. Another rate has another name.
	Name string
	// Requests may come in Per, all of them at once if need be.
	Requests int
	Per      time.Duration
	// Want is how many have come.
	Want int
}

// RateGrant answers a claim.
type RateGrant struct {
	Granted int
	// Wait is how long it takes until the bucket has the next one, where it did not have all.
	Wait time.Duration
}
