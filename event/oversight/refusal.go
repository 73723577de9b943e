package oversight

import "time"

// Refusal is a rejected request. It contains nothing that the sender wrote except known header names, and sizes.
type Refusal struct {
	At time.Time `json:"at"`
	// Cause is the reason as in log and metrics.
	Cause string `json:"cause"`
	// Status is the HTTP status of the response.
	Status int `json:"status"`
	// Scheme is the authentication scheme that got furthest; absent if authentication wasn't reached.
	Scheme string `json:"scheme,omitempty"`
	// Detail is the result of Scheme.
	Detail string `json:"detail,omitempty"`
	// SkewMS is our time minus the time in the request, in milliseconds; absent if it has none.
	SkewMS *int64 `json:"skew_ms,omitempty"`
	// Address is the client address as the ingress sees it.
	Address string `json:"address,omitempty"`
	// Headers lists the known header names in order, and OtherHeaders counts the rest. Both are empty if the request couldn't be
	// read completely.
	Headers      []string `json:"headers"`
	OtherHeaders int      `json:"other_headers"`
	BodyBytes    int      `json:"body_bytes"`
	// BodySHA256 is the hex digest of the body; absent if the body wasn't read or is larger than 1 MiB.
	BodySHA256 string `json:"body_sha256,omitempty"`
}

// RefusalCause counts rejected requests of a provider by cause.
type RefusalCause struct {
	Cause string `json:"cause"`
	// Means explains the cause.
	Means string `json:"means"`
	// Next says how to fix it.
	Next   string    `json:"next"`
	Count  int64     `json:"count"`
	LastAt time.Time `json:"last_at"`
}

// ProviderRefusals summarizes the rejected requests of a provider in one process since its start.
type ProviderRefusals struct {
	// Provider is "unknown" for requests to unknown paths.
	Provider string `json:"provider"`
	// Count is the number in the last hour.
	Count int64 `json:"count"`
	// Causes lists the causes of the last hour, sorted by count.
	Causes []RefusalCause `json:"causes"`
	// Last lists the most recent ones, newest first. In a storm only a sample is kept.
	Last []Refusal `json:"last"`
}

// RefusedRequests counts the requests of a provider that were refused for one reason.
type RefusedRequests struct {
	Provider string
	Count    int64
}

// QueueProblem is why an ingress doesn't read a queue.
type QueueProblem struct {
	Provider, Broker, Queue string
	Code, Message           string
}

// MappedEvents counts the stored events of a provider for which its definition has rules for entities: those in which rules found
// one, and those in which all rules gave nothing.
type MappedEvents struct {
	Provider         string
	Mapped, Unmapped int64
}

// Total counts all of them.
func (m MappedEvents) Total() int64 { return m.Mapped + m.Unmapped }

// OmittingEvents counts the events of a provider that left out entities because of a limit.
type OmittingEvents struct {
	Provider string
	Count    int64
}

// ReasonTooLarge is the cause of requests that were refused because of the size of their body.
const ReasonTooLarge = "body_too_large"
