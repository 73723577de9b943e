package event

import "time"

// Parsed is what a provider's definition says of one event. It is the result of the parse step and so part of the
// workflow's history: everything that the later steps need of the definition is in it.
type Parsed struct {
	// Type is the event's type, at most MaxTypeLength bytes, without control characters; never empty.
	Type string `json:"type"`
	// OccurredAt is the provider's own time of the event, or the time of receipt where it gives none.
	OccurredAt time.Time `json:"occurred_at"`
	// OccurredAtMissing is set where OccurredAt is only the time of receipt.
	OccurredAtMissing bool `json:"occurred_at_missing,omitempty"`
	// Outcome is OutcomeProcessed, or OutcomeIgnored for an event that the definition drops on purpose.
	Outcome Outcome `json:"outcome"`
	// Changes are what the event does to entities, in the definition's order.
	Changes []Change `json:"changes,omitempty"`
	// Policy bounds the durable lane of the steps that follow.
	Policy Policy `json:"policy"`
	// Repeats is set if the key is guessed.
	Repeats *Repeats `json:"repeats,omitempty"`
	// RejectRedelivery says that the redelivery of a dead event does not run it again.
	RejectRedelivery bool `json:"reject_redelivery,omitempty"`
	// Large is set if Changes are too large for the history. Nothing else is set then.
	Large bool `json:"large,omitempty"`
}

// MaxTypeLength is in bytes: the width of a keyword search attribute in Temporal's SQL visibility store.
const MaxTypeLength = 255

// Priority says which task queue an event waits in.
type Priority string

// The priorities, most urgent first.
const (
	PriorityCritical Priority = "critical"
	PriorityHigh     Priority = "high"
	PriorityNormal   Priority = "normal"
)

// Parser reads what the definition of an event's provider says of it.
type Parser func(r Receipt, body []byte) (Parsed, error)
