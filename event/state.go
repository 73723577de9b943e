package event

// Status is where a stored event stands.
type Status string

// The statuses of a row in events.
const (
	// StatusPersisted: the event is stored; its entities are not yet.
	StatusPersisted Status = "persisted"
	// StatusProcessed: every step has committed.
	StatusProcessed Status = "processed"
	// StatusDead: the event is stored and has an open dead letter.
	StatusDead Status = "dead"
)

// Outcome is how a run that did not fail has ended.
type Outcome string

// The outcomes of a completed run.
const (
	OutcomeProcessed Outcome = "processed"
	// OutcomeIgnored: the definition drops this event on purpose; it is stored all the same.
	OutcomeIgnored Outcome = "ignored"
	// OutcomeDuplicate: another event owns the key; nothing was changed.
	OutcomeDuplicate Outcome = "duplicate"
	// OutcomeLeft: of an event in a batch, which gets a workflow of its own.
	OutcomeLeft Outcome = "left"
)

// Step is a part of the work on an event, named in dead letters, metrics and logs.
type Step string

// The steps, in their order.
const (
	StepParse   Step = "parse"
	StepPersist Step = "persist"
	StepUpsert  Step = "upsert"
	// StepBatch is all of them, for a batch of events.
	StepBatch Step = "batch"
)

// DeadLetterState is where a dead letter stands:
// open → redriving → resolved, open → exhausted, open → discarded. One that is exhausted waits like one that is open, but for
// somebody: its automatic attempts are used up.
type DeadLetterState string

// The states of a dead letter.
const (
	DeadLetterOpen      DeadLetterState = "open"
	DeadLetterRedriving DeadLetterState = "redriving"
	DeadLetterResolved  DeadLetterState = "resolved"
	DeadLetterExhausted DeadLetterState = "exhausted"
	DeadLetterDiscarded DeadLetterState = "discarded"
)
