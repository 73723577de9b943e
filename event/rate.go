package event

import "time"

// RateClaim requests permits from a rate limit shared by all processes.
type RateClaim struct {
	// Name identifies the bucket. Another rate needs another name.
	Name string
	// Requests is the burst size and the number of requests allowed in Per.
	Requests int
	Per      time.Duration
	// Want is the number of requested permits.
	Want int
}

// RateGrant is the response to a claim.
type RateGrant struct {
	Granted int
	// Wait is the time until the next permit, if not all were granted.
	Wait time.Duration
}
