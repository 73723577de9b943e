package event

import (
	"encoding/json"
	"time"
)

// Receipt is what the ingress knows of an event when it accepts it. It travels, beside the raw body, as the input of the
// event's workflow and never changes afterwards: a retry, a reset and a replay all work from the same receipt.
type Receipt struct {
	// ID is a UUIDv7 made by the ingress: the primary key of the event in every table.
	ID string `json:"id"`
	// Provider is the name of the definition that authenticated the request.
	Provider string `json:"provider"`
	// Source tells the provider's senders apart (an instance, an account); empty where there is only one.
	Source string `json:"source,omitempty"`
	// Key is the canonical idempotency key (see CanonicalKey).
	Key string `json:"key"`
	// KeyFrom says where the key came from: KeyFromEvent or KeyFromBody.
	KeyFrom KeyOrigin `json:"key_from"`
	// DedupeWindow is how long a redelivery of this key is a duplicate; 0 means for ever.
	DedupeWindow Duration `json:"dedupe_window,omitempty"`
	// Fingerprint is what every delivery of the event has in common beside its key: "sha256:" and the hash of the body, or, where
	// the body is the key, the sender's name of the delivery. An event with the same key and another fingerprint is a conflict;
	// "" is compared with nothing.
	Fingerprint string `json:"fingerprint,omitempty"`
	// Type is the event type as the ingress read it; "" if it could not.
	Type string `json:"type,omitempty"`
	// Priority is the task queue class that the definition gives events of this type.
	Priority Priority `json:"priority,omitempty"`
	// ReceivedAt is when the ingress had read the request, in UTC.
	ReceivedAt time.Time `json:"received_at"`
	// Headers, Query and Path are the parts of the request that the definition keeps. Names of headers are lower case.
	Headers map[string]string `json:"headers,omitempty"`
	Query   map[string]string `json:"query,omitempty"`
	Path    map[string]string `json:"path,omitempty"`
	// Root is the envelope that the event was split from, without its items; nil if the request was one event.
	Root json.RawMessage `json:"root,omitempty"`
	// RequestID and CorrelationID tie the event to the HTTP request and to the sender's own trace.
	RequestID     string `json:"request_id"`
	CorrelationID string `json:"correlation_id,omitempty"`
	// Trace is the trace that the request began, as W3C traceparent, where traces are exported; what leaves goes on with it.
	Trace string `json:"trace,omitempty"`
	// Replaces is the ID of the event that an operator has edited to make this one; empty for what a provider has sent.
	Replaces string `json:"replaces,omitempty"`
	// Imported is set if the event was received by the system before, and brought here.
	Imported *Imported `json:"imported,omitempty"`
}

// KeyOrigin says what an idempotency key was made of.
type KeyOrigin string

// The origins of a key.
const (
	// KeyFromEvent: the definition's key expressions gave it.
	KeyFromEvent KeyOrigin = "event"
	// KeyFromBody: the SHA-256 of the body, because the definition says so for events that carry no identity.
	KeyFromBody KeyOrigin = "body_sha256"
	// KeyFromNothing: the definition's expressions gave nothing and it allows no fallback. The event is kept under the hash
	// of its body, and the parse step turns it into a dead letter.
	KeyFromNothing KeyOrigin = "missing"
)

// WorkflowID is the ID of the workflow that processes the event.
func (r Receipt) WorkflowID() string { return WorkflowID(r.Provider, r.Key) }

// Imported is what an event keeps of the system that it comes from.
type Imported struct {
	// ID is that of the import.
	ID string `json:"id"`
	// Attempts is how often that system had tried it.
	Attempts int `json:"attempts,omitempty"`
	// OccurredAt is when it occurred, for an event whose body does not say so.
	OccurredAt time.Time `json:"occurred_at,omitzero"`
}
