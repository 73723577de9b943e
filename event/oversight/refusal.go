package oversight

import "time"

// Refusal is a request that was refused. It holds nothing that its sender has written: header names are those that we know, the
// others are counted, and the rest is measured.
type Refusal struct {
	At time.Time `json:"at"`
	// Cause is the reason that the log and the metrics have, and Status what the sender was answered.
	Cause  string `json:"cause"`
	Status int    `json:"status"`
	// Scheme is the one that came furthest, and Detail what it found; both are "" where authentication was not reached.
	Scheme string `json:"scheme,omitempty"`
	Detail string `json:"detail,omitempty"`
	// SkewMS is how far the time that the request claims lies behind ours, in milliseconds, negative if it is ahead; nil where
	// it claims none.
	SkewMS *int64 `json:"skew_ms,omitempty"`
	// Address is the sender's, as the ingress sees it.
	Address string `json:"address,omitempty"`
	// Headers are the known names, in their order, and OtherHeaders counts the rest. Both are empty for a request that could not
	// be read to its end.
	Headers      []string `json:"headers"`
	OtherHeaders int      `json:"other_headers"`
	// BodyBytes is its length, and BodySHA256 its digest in hex; "" where the body was not read, or is larger than 1 MiB.
	BodyBytes  int    `json:"body_bytes"`
	BodySHA256 string `json:"body_sha256,omitempty"`
}

// RefusalCause counts the requests of a provider that were refused for one cause.
type RefusalCause struct {
	Cause string `json:"cause"`
	// Means and Next say what the cause is, and what to do about it.
	Means  string    `json:"means"`
	Next   string    `json:"next"`
	Count  int64     `json:"count"`
	LastAt time.Time `json:"last_at"`
}

// ProviderRefusals are the refusals of one provider, as one process has them since its start.
type ProviderRefusals struct {
	// Provider is "unknown" for requests to a path that is nobody's.
	Provider string `json:"provider"`
	// Count is how many there were in the last hour; Causes has them by cause, most first.
	Count  int64          `json:"count"`
	Causes []RefusalCause `json:"causes"`
	// Last are the last ones, the latest first. Of a storm only some are kept.
	Last []Refusal `json:"last"`
}
