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

// Policy is a provider's declared retry policy. It counts executions that failed (ClassFailed); infrastructure trouble
// (ClassTransient) is retried without being counted, and a rejected event is not retried at all.
type Policy struct {
	// Attempts is how many counted executions a step may have, the first included; at least 1.
	Attempts int `json:"attempts"`
	// Delays are the pauses after the first, second, … counted failure; the last one repeats. Where it is empty the pause
	// is InitialInterval × Coefficientⁿ, at most MaximumInterval.
	Delays          []Duration `json:"delays,omitempty"`
	InitialInterval Duration   `json:"initial_interval,omitempty"`
	Coefficient     float64    `json:"coefficient,omitempty"`
	MaximumInterval Duration   `json:"maximum_interval,omitempty"`
	// Jitter spreads a pause by up to ± this share of it, 0 to 1.
	Jitter float64 `json:"jitter,omitempty"`
	// Timeout bounds one execution of a step.
	Timeout Duration `json:"timeout"`
}
