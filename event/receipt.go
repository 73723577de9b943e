package event

import (
	"encoding/json"
	"time"
)

// Receipt is the metadata of an event when the ingress accepts it. Together with the raw body, it is the input of the event's
// workflow. It never changes: a retry, a reset and a replay all use the same receipt.
type Receipt struct {
	// ID is a UUIDv7 created by the ingress, the primary key of the event.
	ID string `json:"id" jsonschema:"format=uuid"`
	// Provider is the definition that authenticated the request.
	Provider string `json:"provider"`
	// Source is the sender within the provider (an instance, an account); empty if there is only one.
	Source string `json:"source,omitempty"`
	// Key is the canonical idempotency key.
	Key     string    `json:"key"`
	KeyFrom KeyOrigin `json:"key_from"`
	// DedupeWindow is how long the same key counts as a duplicate; 0 or absent means forever.
	DedupeWindow Duration `json:"dedupe_window,omitempty"`
	// Fingerprint is shared by all deliveries of the event: "sha256:" and the hash of the body or, if the body is the key, the
	// sender's delivery ID. An event with the same key and another fingerprint is a conflict. An empty one is never compared.
	Fingerprint string `json:"fingerprint,omitempty"`
	// Certain means that the key identifies one event, because it is an authenticated ID or a combination documented as unique. If
	// such a key arrives with another fingerprint, the event becomes a dead letter.
	Certain bool `json:"certain,omitempty"`
	// Content is the hex hash of the body without the parts that vary between deliveries, if the key is guessed. Two events with
	// equal content may be the same.
	Content string `json:"content,omitempty"`
	// Earlier is the key that the previous release gave this event; absent if it is the same.
	Earlier *EarlierKey `json:"earlier,omitempty"`
	// ConflictsWith is the ID of the event that owns the original key of this one, or "unknown"; empty without a conflict.
	ConflictsWith string `json:"conflicts_with,omitempty"`
	// Definition is the digest of the definition that identified the event; empty in receipts of earlier releases. While a worker
	// has the same definition, the parse step needn't identify the event again.
	Definition string `json:"definition,omitempty"`
	// Type is the event type as the ingress read it, if it could.
	Type string `json:"type,omitempty"`
	// Priority selects the task queue.
	Priority Priority `json:"priority,omitempty"`
	// ReceivedAt is when the ingress finished reading the request, in UTC.
	ReceivedAt time.Time `json:"received_at"`
	// Headers, Query and Path are the parts of the request that the definition keeps. Header names are lower case. Viewers don't
	// see these.
	Headers map[string]string `json:"headers,omitempty"`
	Query   map[string]string `json:"query,omitempty"`
	Path    map[string]string `json:"path,omitempty"`
	// Root is the batch envelope without its items; absent if the request was a single event. Viewers don't see it.
	Root json.RawMessage `json:"root,omitempty"`
	// Copied means that the inbox has a copy of the event, removed when the event or its dead letter is stored.
	Copied bool `json:"copied,omitempty"`
	// Large is set if the body is too large for Temporal: it is in PostgreSQL only.
	Large *LargeBody `json:"large,omitempty"`
	// RequestID and CorrelationID link the event to the HTTP request and to the sender's trace.
	RequestID     string `json:"request_id"`
	CorrelationID string `json:"correlation_id,omitempty"`
	// Trace is the W3C traceparent of the request, if traces are exported; deliveries continue it.
	Trace string `json:"trace,omitempty"`
	// Replaces is the ID of the event that an operator edited to create this one.
	Replaces string `json:"replaces,omitempty" jsonschema:"format=uuid"`
	// SplitFrom is the ID of the event that a replay split into this one and others.
	SplitFrom string `json:"split_from,omitempty" jsonschema:"format=uuid"`
	// Imported is set if the event was imported from another system.
	Imported *Imported `json:"imported,omitempty"`
	// Via is "recover" for an event from the provider's list of events, "queue" for one from a queue, and "queue_cut" for the
	// beginning of a message that was too large. It is empty for a request of the provider.
	Via Via `json:"via,omitempty"`
	// Undelivered means that the event isn't sent to subscriptions, as an operator has decided for a recovery.
	Undelivered bool `json:"undelivered,omitempty"`
	// BodyLost means that the event was acknowledged and nothing has its body any more. Only its dead letter has such a receipt.
	BodyLost bool `json:"body_lost,omitempty"`
	// Fetched is the state that was fetched for the event; nil if there is none. It is stored next to the event, and is not a part
	// of the receipt in a history or in the database.
	Fetched *Fetched `json:"-"`
}

// Received is an event of a request, as it is committed.
type Received struct {
	Receipt

	// Body is a slice of the request's bytes, not a copy.
	Body []byte
	// RejectRedelivery treats a redelivery as a duplicate even if the event has failed, instead of running the event again.
	RejectRedelivery bool
	// Bulk sends the event to the bulk lane, if there is an inbox.
	Bulk bool
}

// Via is how an event came here; empty for a request of the provider.
type Via string

const (
	// ViaRecover marks events that a recovery has read from the provider's list.
	ViaRecover Via = "recover"
	// ViaQueue marks events of messages that an ingress has read from a queue.
	ViaQueue Via = "queue"
	// ViaCut marks the beginning of a message of a queue that was larger than MaxBody. It is always a dead letter.
	ViaCut Via = "queue_cut"
)

// EarlierKey is another key of an event. It identifies the same event only if the fingerprint matches, too.
type EarlierKey struct {
	Key         string `json:"key"`
	Fingerprint string `json:"fingerprint,omitempty"`
}

// Repeats configures events with a guessed key and content that was seen before.
type Repeats struct {
	// Hold: the event becomes a dead letter of ClassInDoubt; otherwise it is accepted and marked.
	Hold bool `json:"hold,omitempty"`
	// Flood is the max number of accepted events with the same content a day; more are held. 0 means DefaultFlood.
	Flood int `json:"flood,omitempty"`
}

// DefaultFlood is in events a day.
const DefaultFlood = 100

// KeyOrigin is the source of an idempotency key.
type KeyOrigin string

// The origins of a key.
const (
	// KeyFromEvent: the definition's key expressions.
	KeyFromEvent KeyOrigin = "event"
	// KeyFromBody: the SHA-256 of the body, as the definition requests for events without an ID.
	KeyFromBody KeyOrigin = "body_sha256"
	// KeyFromNothing: the key expressions yielded nothing and there is no fallback. The event is stored under the hash of its body,
	// and the parse step makes it a dead letter.
	KeyFromNothing KeyOrigin = "missing"
)

// WorkflowID returns the ID of the workflow that processes the event.
func (r Receipt) WorkflowID() string { return WorkflowID(r.Provider, r.Key) }

// Imported describes the import of an event.
type Imported struct {
	// ID is the ID of the import.
	ID string `json:"id"`
	// Attempts counts the attempts in the original system.
	Attempts int `json:"attempts,omitempty"`
	// OccurredAt is set if the body doesn't contain the time.
	OccurredAt time.Time `json:"occurred_at,omitzero"`
}

// Identity is how a definition identifies an event. The receipt has the same fields.
type Identity struct {
	Key          string      `json:"key"`
	KeyFrom      KeyOrigin   `json:"key_from"`
	Source       string      `json:"source,omitempty"`
	DedupeWindow Duration    `json:"dedupe_window,omitempty"`
	Fingerprint  string      `json:"fingerprint,omitempty"`
	Certain      bool        `json:"certain,omitempty"`
	Content      string      `json:"content,omitempty"`
	Earlier      *EarlierKey `json:"earlier,omitempty"`
}

// Identity returns how the definition identified the event when the ingress accepted it.
func (r Receipt) Identity() Identity {
	return Identity{
		Key: r.Key, KeyFrom: r.KeyFrom, Source: r.Source, DedupeWindow: r.DedupeWindow, Fingerprint: r.Fingerprint,
		Certain: r.Certain, Content: r.Content, Earlier: r.Earlier,
	}
}

// IdentifiedAs returns the receipt that an ingress with another definition would have made of the event. It is for comparisons:
// the event keeps its own receipt, and with it its workflow ID.
func (r Receipt) IdentifiedAs(i Identity) Receipt {
	r.Key, r.KeyFrom, r.Source, r.DedupeWindow = i.Key, i.KeyFrom, i.Source, i.DedupeWindow
	r.Fingerprint, r.Certain, r.Content, r.Earlier = i.Fingerprint, i.Certain, i.Content, i.Earlier
	return r
}

// Equal reports whether two identities are the same, whatever the key was in an earlier release.
func (i Identity) Equal(other Identity) bool {
	i.Earlier, other.Earlier = nil, nil
	return i == other
}
