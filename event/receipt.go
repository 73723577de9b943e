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
	// Certain is set if the key identifies one event: an authenticated ID, or a combination that the provider documents as unique.
	// An event with the same certain key and another fingerprint becomes a dead letter.
	Certain bool `json:"certain,omitempty"`
	// Content is the hash of the body without what varies between deliveries, in hex, if the key is guessed; "" otherwise. Two
	// events with equal content may be one.
	Content string `json:"content,omitempty"`
	// Earlier is the key that the release before gave this event; nil where it is the same.
	Earlier *EarlierKey `json:"earlier,omitempty"`
	// ConflictsWith is the ID of the event that has the key which this one came with; empty where there is no conflict.
	ConflictsWith string `json:"conflicts_with,omitempty"`
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

// EarlierKey is another key under which an event may already be known. It is the same event only if the fingerprint, too, is
// that of the key's owner.
type EarlierKey struct {
	Key         string `json:"key"`
	Fingerprint string `json:"fingerprint,omitempty"`
}

// Repeats says what becomes of an event with a guessed key whose content has been seen before.
type Repeats struct {
	// Hold makes it a dead letter of ClassInDoubt; otherwise it is accepted and marked.
	Hold bool `json:"hold,omitempty"`
	// Flood is how many events of one content a day are accepted at most; the rest are held. 0 means DefaultFlood.
	Flood int `json:"flood,omitempty"`
}

// DefaultFlood is in events a day.
const DefaultFlood = 100

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
