package oversight

import "time"

// Refusal is a rejected request. It contains nothing that the sender wrote except known header names, and sizes.
type Refusal struct {
	At time.Time `json:"at"`
	// Cause is the reason as in log and metrics, and Status the HTTP status.
	Cause  string `json:"cause"`
	Status int    `json:"status"`
	// Scheme is the authentication scheme that got furthest, and Detail its result; both are empty if authentication wasn't reached.
	Scheme string `json:"scheme,omitempty"`
	Detail string `json:"detail,omitempty"`
	// SkewMS is our time minus the time in the request, in milliseconds; nil if it has none.
	SkewMS *int64 `json:"skew_ms,omitempty"`
	// Address is the client address as the ingress sees it.
	Address string `json:"address,omitempty"`
	// Headers lists the known header names in order, and OtherHeaders counts the rest. Both are empty if the request couldn't be
	// read completely.
	Headers      []string `json:"headers"`
	OtherHeaders int      `json:"other_headers"`
	// BodyBytes is the length of the body, and BodySHA256 its hex digest; "" if the body wasn't read or is larger than 1 MiB.
	BodyBytes  int    `json:"body_bytes"`
	BodySHA256 string `json:"body_sha256,omitempty"`
}

// RefusalCause counts rejected requests of a provider by cause.
type RefusalCause struct {
	Cause string `json:"cause"`
	// Means explains the cause, Next how to fix it.
	Means  string    `json:"means"`
	Next   string    `json:"next"`
	Count  int64     `json:"count"`
	LastAt time.Time `json:"last_at"`
}

// ProviderRefusals summarizes the rejected requests of a provider in one process since its start.
type ProviderRefusals struct {
	// Provider is "unknown" for requests to unknown paths.
	Provider string `json:"provider"`
	// Count is the number in the last hour; Causes is sorted by count.
	Count  int64          `json:"count"`
	Causes []RefusalCause `json:"causes"`
	// Last has the most recent ones, newest first. In a storm only a sample is kept.
	Last []Refusal `json:"last"`
}
