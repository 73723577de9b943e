package ledger

import "time"

// Invariant is one thing that must hold of all events of a ledger, or that is worth knowing.
type Invariant string

// The invariants.
const (
	// Lost: acknowledged, and neither stored, nor a dead letter, nor waiting in the inbox.
	Lost Invariant = "lost"
	// Duplicated: stored twice within the dedupe window, or waiting as a dead letter twice.
	Duplicated Invariant = "duplicated"
	// Unexpected: stored although it was only ever refused, or although this ledger's run has never sent it.
	Unexpected Invariant = "unexpected"
	// Bytes: what is stored is not what was sent.
	Bytes Invariant = "bytes"
	// Fold: the state of an entity is not the fold of its events.
	Fold Invariant = "fold"
	// Checkpoints: what an entity knows of its changes, or one of its checkpoints, is not what its events say.
	Checkpoints Invariant = "checkpoints"
	// Names: the name of an entity stands for another name, or is an entity of its own all the same.
	Names Invariant = "names"
	// TwoEnds: processed, and a dead letter that waits.
	TwoEnds Invariant = "two_ends"
	// Stuck: stored, and neither processed nor a dead letter, or in the inbox still.
	Stuck Invariant = "stuck"
	// Undone: an operator has given the event up, and it has an effect on entities, is processed, or waits as a dead letter.
	Undone Invariant = "undone"
	// Untold: the change feed does not say that an event was processed, or lacks a revision of an entity, or has one twice.
	Untold Invariant = "untold"
	// Leaks: connections that hold a transaction open and do nothing.
	Leaks Invariant = "leaks"
	// Running: workflows that are not at their end. From Temporal.
	Running Invariant = "running"
	// NoWorkflow: acknowledged, with no workflow of its own or of a batch. From Temporal.
	NoWorkflow Invariant = "no_workflow"
	// Undead: the run has failed and there is no dead letter. From Temporal.
	Undead Invariant = "undead"
	// Recovered: never acknowledged, and accepted all the same. This is allowed.
	Recovered Invariant = "recovered"
)

// The invariants of what goes out.
const (
	// DeliveryTwoEnds: a delivery is open and has ended all the same, or is delivered and waits as a dead letter.
	DeliveryTwoEnds Invariant = "delivery_two_ends"
	// DeliveryUnburied: it has failed, and there is no dead letter of it.
	DeliveryUnburied Invariant = "delivery_unburied"
	// DeliveryUnasked: it has ended, and its event was never processed.
	DeliveryUnasked Invariant = "delivery_unasked"
	// DeliveryCrowd: more attempts of a destination are under way than may be.
	DeliveryCrowd Invariant = "delivery_crowd"
	// DeliveryAsleep: it has been due for a minute, and nobody will look for it in the next one.
	DeliveryAsleep Invariant = "delivery_asleep"
	// DeliveryUnseen: it counts as delivered, and its receiver has not seen it.
	DeliveryUnseen Invariant = "delivery_unseen"
	// DeliveryLost: an event matches a subscription, and has no delivery.
	DeliveryLost Invariant = "delivery_lost"
)

// Finding is how often one invariant is broken, or how often what is allowed has happened.
type Finding struct {
	Invariant Invariant `json:"invariant"`
	Count     int       `json:"count"`
	// Examples are workflow IDs, or entities as provider/kind/id; sorted, and only the first of many.
	Examples []string `json:"examples,omitempty"`
}

// Broken says whether something is wrong.
func (f Finding) Broken() bool { return f.Count > 0 && f.Invariant != Recovered }

// Report is what became of the events of a ledger.
type Report struct {
	// Sent counts events, duplicates once; they are Acknowledged, Refused or, if nothing is known, Unknown.
	Sent         int `json:"sent"`
	Acknowledged int `json:"acknowledged"`
	Refused      int `json:"refused"`
	Unknown      int `json:"unknown"`
	// Processed, Dead and Waiting count those that are stored: at their end, as dead letters, or not yet (in the inbox or
	// in work).
	Processed int `json:"processed"`
	Dead      int `json:"dead"`
	Waiting   int `json:"waiting"`
	// Findings are one an invariant, in the order of their declaration.
	Findings []Finding `json:"findings"`
	Timing   Timing    `json:"timing"`
}

// Holds says whether no invariant is broken.
func (r Report) Holds() bool {
	for _, f := range r.Findings {
		if f.Broken() {
			return false
		}
	}
	return true
}

// Finding is what was found of an invariant; none if it was not looked at.
func (r Report) Finding(i Invariant) Finding {
	for _, f := range r.Findings {
		if f.Invariant == i {
			return f
		}
	}
	return Finding{Invariant: i}
}

// Timing is how long the events that are processed have taken. Times of the sender, of the ingress and of the database are
// compared with each other: across machines they are worth as much as the clocks agree.
type Timing struct {
	// FirstSent is when the first of them was sent, and LastProcessed when the last was processed.
	FirstSent     time.Time `json:"first_sent"`
	LastProcessed time.Time `json:"last_processed"`
	// PerSecond is how many were processed in a second from FirstSent to LastProcessed.
	PerSecond float64 `json:"per_second"`
	// FromAck is from the moment at which the sender had the first acknowledgement to events.processed_at, which is taken
	// just before the last transaction of the event commits. It is negative where the event was done before the answer
	// arrived.
	FromAck Quantiles `json:"from_ack"`
	// FromReceipt is from events.received_at, when the ingress had read the request, to events.processed_at.
	FromReceipt Quantiles `json:"from_receipt"`
}

// Quantiles are of a time.
type Quantiles struct {
	P50 time.Duration `json:"p50"`
	P90 time.Duration `json:"p90"`
	P99 time.Duration `json:"p99"`
	Max time.Duration `json:"max"`
}
