package event

// Status is where a stored event stands.
type Status string

// The statuses of an event. Those of a row in events are persisted, processed and dead.
const (
	// StatusAccepted: the event is acknowledged, its run is open, and it has no row yet: it waits for a worker.
	StatusAccepted Status = "accepted"
	// StatusPersisted: the event is stored; its entities are not yet.
	StatusPersisted Status = "persisted"
	// StatusProcessed: every step has committed.
	StatusProcessed Status = "processed"
	// StatusDead: the event is stored and has an open dead letter.
	StatusDead Status = "dead"
)

// Statuses are all of them.
func Statuses() []Status {
	return []Status{StatusAccepted, StatusPersisted, StatusProcessed, StatusDead}
}

// Outcome is how a run that did not fail has ended.
type Outcome string

// The outcomes of a completed run.
const (
	OutcomeProcessed Outcome = "processed"
	// OutcomeIgnored: the definition drops this event on purpose; it is stored all the same.
	OutcomeIgnored Outcome = "ignored"
	// OutcomeDuplicate: another event owns the key; nothing was changed.
	OutcomeDuplicate Outcome = "duplicate"
	// OutcomeDiscarded, OutcomeReplaced and OutcomeExpunged: an operator has decided about the event; nothing was changed. See
	// Verdict.
	OutcomeDiscarded Outcome = "discarded"
	OutcomeReplaced  Outcome = "replaced"
	OutcomeExpunged  Outcome = "expunged"
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
	// StepRun is the step of a dead letter whose run was ended from outside, so that it could not say how far it had come.
	StepRun Step = "run"
	// StepStart is the step of a dead letter whose event Temporal would not take, so that it never had a run.
	StepStart Step = "start"
	// StepDeliver is the step of a dead letter that says what the policy of a destination could not deliver. The event itself is
	// processed.
	StepDeliver Step = "deliver"
)

// Steps are all of them, with those at which a run can end from outside.
func Steps() []Step {
	return []Step{StepStart, StepParse, StepPersist, StepUpsert, StepBatch, StepRun, StepDeliver}
}

// DeadLetterState is where a dead letter stands:
// open → redriving → resolved, open → exhausted, open → discarded → open (reopened). One that is exhausted waits like one that
// is open, but for somebody: its automatic attempts are used up.
type DeadLetterState string

// The states of a dead letter.
const (
	DeadLetterOpen      DeadLetterState = "open"
	DeadLetterRedriving DeadLetterState = "redriving"
	DeadLetterResolved  DeadLetterState = "resolved"
	DeadLetterExhausted DeadLetterState = "exhausted"
	DeadLetterDiscarded DeadLetterState = "discarded"
)

// DeadLetterStates are all of them.
func DeadLetterStates() []DeadLetterState {
	return []DeadLetterState{
		DeadLetterOpen, DeadLetterRedriving, DeadLetterResolved, DeadLetterExhausted, DeadLetterDiscarded,
	}
}

// Phase is where on its way an event was when something went wrong.
type Phase string

// The phases, in their order.
const (
	PhaseReceive    Phase = "receive"
	PhaseParse      Phase = "parse"
	PhasePersist    Phase = "persist"
	PhaseUpsert     Phase = "upsert"
	PhaseDeadLetter Phase = "dead_letter"
	PhaseRedrive    Phase = "redrive"
	// PhaseDeliver is what goes out: receivers that are in trouble.
	PhaseDeliver Phase = "deliver"
	// PhaseUpkeep is the work that belongs to no event: purges, sweeps, notifications.
	PhaseUpkeep Phase = "upkeep"
)

// Phases are all of them, in their order.
func Phases() []Phase {
	return []Phase{PhaseReceive, PhaseParse, PhasePersist, PhaseUpsert, PhaseDeadLetter, PhaseRedrive, PhaseDeliver, PhaseUpkeep}
}
