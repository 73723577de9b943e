package ledger

import "time"

// Invariant is a property that all events of a ledger must have, or one that is worth reporting.
type Invariant string

// The invariants.
const (
	// Lost: acknowledged, and neither stored, nor a dead letter, nor in the inbox.
	Lost Invariant = "lost"
	// Duplicated: stored twice within the dedupe window, or two open dead letters.
	Duplicated Invariant = "duplicated"
	// Unexpected: stored although it was only ever refused, or although this ledger's run never sent it.
	Unexpected Invariant = "unexpected"
	// Bytes: the stored bytes differ from those sent.
	Bytes Invariant = "bytes"
	// Fold: the state of an entity is not the fold of its events.
	Fold Invariant = "fold"
	// Checkpoints: an entity's changes, or one of its checkpoints, don't match its events.
	Checkpoints Invariant = "checkpoints"
	// Names: an alias of an entity points to another alias, or is also an entity of its own.
	Names Invariant = "names"
	// TwoEnds: processed, and also an open dead letter.
	TwoEnds Invariant = "two_ends"
	// Stuck: stored but neither processed nor a dead letter, or still in the inbox.
	Stuck Invariant = "stuck"
	// Undone: an operator has discarded the event, and it still affects entities, is processed, or is an open dead letter.
	Undone Invariant = "undone"
	// Untold: the change feed lacks an event's processing or an entity's revision, or has one twice.
	Untold Invariant = "untold"
	// Leaks: connections that are idle in a transaction.
	Leaks Invariant = "leaks"
	// Running: workflows that haven't ended. From Temporal.
	Running Invariant = "running"
	// NoWorkflow: acknowledged, without a workflow of its own or of a batch. From Temporal.
	NoWorkflow Invariant = "no_workflow"
	// Undead: the run has failed and there is no dead letter. From Temporal.
	Undead Invariant = "undead"
	// Recovered: never acknowledged, but accepted. This is allowed.
	Recovered Invariant = "recovered"
)

// The invariants of deliveries.
const (
	// DeliveryTwoEnds: a delivery is both open and ended, or delivered and also an open dead letter.
	DeliveryTwoEnds Invariant = "delivery_two_ends"
	// DeliveryUnburied: failed without a dead letter.
	DeliveryUnburied Invariant = "delivery_unburied"
	// DeliveryUnasked: ended, but its event was never processed.
	DeliveryUnasked Invariant = "delivery_unasked"
	// DeliveryCrowd: a destination has more attempts in flight than allowed.
	DeliveryCrowd Invariant = "delivery_crowd"
	// DeliveryAsleep: due for a minute, and not scheduled to be claimed in the next one.
	DeliveryAsleep Invariant = "delivery_asleep"
	// DeliveryUnseen: counts as delivered, but the endpoint has not received it.
	DeliveryUnseen Invariant = "delivery_unseen"
	// DeliveryLost: an event matches a subscription, but has no delivery.
	DeliveryLost Invariant = "delivery_lost"
)

// Finding counts the violations of one invariant, or the occurrences of an allowed one.
type Finding struct {
	Invariant Invariant `json:"invariant"`
	Count     int       `json:"count"`
	// Examples are workflow IDs, or entities as provider/kind/id; sorted and truncated.
	Examples []string `json:"examples,omitempty"`
}

// Broken reports whether the finding is a violation.
func (f Finding) Broken() bool { return f.Count > 0 && f.Invariant != Recovered }

// Report summarizes the events of a ledger.
type Report struct {
	// Sent counts events, duplicates once; each is Acknowledged, Refused or, if there was no answer, Unknown.
	Sent         int `json:"sent"`
	Acknowledged int `json:"acknowledged"`
	Refused      int `json:"refused"`
	Unknown      int `json:"unknown"`
	// Processed, Dead and Waiting count stored events: processed, dead letters, or neither yet (in the inbox or in progress).
	Processed int `json:"processed"`
	Dead      int `json:"dead"`
	Waiting   int `json:"waiting"`
	// Findings has one entry for each checked invariant, in the order of their declaration.
	Findings []Finding `json:"findings"`
	Timing   Timing    `json:"timing"`
}

// Holds reports whether no invariant is violated.
func (r Report) Holds() bool {
	for _, f := range r.Findings {
		if f.Broken() {
			return false
		}
	}
	return true
}

// Finding returns the finding for an invariant; the zero value if it wasn't checked.
func (r Report) Finding(i Invariant) Finding {
	for _, f := range r.Findings {
		if f.Invariant == i {
			return f
		}
	}
	return Finding{Invariant: i}
}

// Timing is how long the processed events have taken. It compares times of the sender, of the ingress and of the database:
// across machines it is only as accurate as their clocks.
type Timing struct {
	// FirstSent is when the first of them was sent, and LastProcessed when the last was processed.
	FirstSent     time.Time `json:"first_sent"`
	LastProcessed time.Time `json:"last_processed"`
	// PerSecond is the rate of processed events from FirstSent to LastProcessed.
	PerSecond float64 `json:"per_second"`
	// FromAck is measured from the sender's first acknowledgement to events.processed_at, which is set just before the last
	// transaction of the event commits. It is negative if the event was processed before the answer arrived.
	FromAck Quantiles `json:"from_ack"`
	// FromReceipt is measured from events.received_at, when the ingress had read the request, to events.processed_at.
	FromReceipt Quantiles `json:"from_receipt"`
}

// Quantiles summarize durations.
type Quantiles struct {
	P50 time.Duration `json:"p50"`
	P90 time.Duration `json:"p90"`
	P99 time.Duration `json:"p99"`
	Max time.Duration `json:"max"`
}
