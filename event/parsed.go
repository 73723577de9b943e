package event

import "time"

// Parsed is the result of the parse step. It is part of the workflow's history and has everything that the later steps need from
// the definition.
type Parsed struct {
	// Type is never empty: at most MaxTypeLength bytes, without control characters.
	Type string `json:"type"`
	// OccurredAt is the provider's time of the event, or the time of receipt if missing.
	OccurredAt time.Time `json:"occurred_at"`
	// OccurredAtMissing: OccurredAt is only the time of receipt.
	OccurredAtMissing bool `json:"occurred_at_missing,omitempty"`
	// Outcome is OutcomeProcessed, or OutcomeIgnored if the definition drops the event.
	Outcome Outcome `json:"outcome"`
	// Changes are the changes of entities, in the definition's order.
	Changes []Change `json:"changes,omitempty"`
	// Omitted lists entities that the event names and can't change; nil if there are none.
	Omitted *Omitted `json:"omitted,omitempty"`
	// Unmapped: rules for entities were meant for the event, and all of them gave nothing, such as a null ID.
	Unmapped bool `json:"unmapped,omitempty"`
	// Policy is the retry policy of the later steps.
	Policy Policy `json:"policy"`
	// Repeats is set if the key is guessed.
	Repeats *Repeats `json:"repeats,omitempty"`
	// RejectRedelivery: a redelivery of a dead event doesn't run it again.
	RejectRedelivery bool `json:"reject_redelivery,omitempty"`
	// Identity is set if the current definition identifies the event otherwise than its receipt says.
	Identity *Identity `json:"identity,omitempty"`
	// Splits is how many events the current definition makes of this one, which was accepted as a whole; 0 if it is one. Then the
	// persist step splits it, and no other result is used.
	Splits int `json:"splits,omitempty"`
	// Fetch is set if the state of what the event names is still to be fetched; then the event is parsed again.
	Fetch *Fetch `json:"fetch,omitempty"`
	// Large: Changes are too large for the history. No other field is set.
	Large bool `json:"large,omitempty"`
}

// Mapping says whether rules for entities found what they are meant for.
type Mapping string

// The mappings; it is empty for events for which no rule is meant.
const (
	Mapped   Mapping = "mapped"
	Unmapped Mapping = "unmapped"
)

// Mapping returns whether the rules that are meant for the event found entities in it.
func (p Parsed) Mapping() Mapping {
	switch {
	case p.Unmapped:
		return Unmapped
	case len(p.Changes) > 0:
		return Mapped
	}
	return ""
}

// MaxTypeLength is in bytes: the width of a keyword search attribute in Temporal's SQL visibility store.
const MaxTypeLength = 255

// Priority selects the task queue of an event.
type Priority string

// The priorities, most urgent first.
const (
	PriorityCritical Priority = "critical"
	PriorityHigh     Priority = "high"
	PriorityNormal   Priority = "normal"
)

// Parser applies the definition of an event's provider.
type Parser func(r Receipt, body []byte) (Parsed, error)
