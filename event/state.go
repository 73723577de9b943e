package event

// Status is the status of a stored event.
type Status string

// The statuses of an event. Rows have persisted, processed or dead.
const (
	// StatusAccepted: the event is acknowledged and its run is open, but it has no row yet.
	StatusAccepted Status = "accepted"
	// StatusPersisted: the event is stored; its entities aren't yet.
	StatusPersisted Status = "persisted"
	// StatusProcessed: every step has committed.
	StatusProcessed Status = "processed"
	// StatusDead: the event is stored and has an open dead letter.
	StatusDead Status = "dead"
)

// Statuses lists all statuses.
func Statuses() []Status {
	return []Status{StatusAccepted, StatusPersisted, StatusProcessed, StatusDead}
}

// Outcome is the result of a run that didn't fail.
type Outcome string

// The outcomes of a completed run.
const (
	OutcomeProcessed Outcome = "processed"
	// OutcomeIgnored: the definition drops this event; it is stored all the same.
	OutcomeIgnored Outcome = "ignored"
	// OutcomeDuplicate: another event owns the key; nothing was changed.
	OutcomeDuplicate Outcome = "duplicate"
	// OutcomeDiscarded, OutcomeReplaced and OutcomeExpunged: an operator decided about the event, so nothing changed. See Decision.
	OutcomeDiscarded Outcome = "discarded"
	OutcomeReplaced  Outcome = "replaced"
	OutcomeExpunged  Outcome = "expunged"
	// OutcomeLeft: an event of a batch that gets its own workflow.
	OutcomeLeft Outcome = "left"
)

// Step is a step of processing, named in dead letters, metrics and logs.
type Step string

// The steps, in order.
const (
	StepParse Step = "parse"
	// StepFetch gets the current state of what the event names from the provider's API.
	StepFetch   Step = "fetch"
	StepPersist Step = "persist"
	StepUpsert  Step = "upsert"
	// StepBatch is the processing of a batch of events.
	StepBatch Step = "batch"
	// StepRun is the step of a dead letter whose run was ended from outside at an unknown step.
	StepRun Step = "run"
	// StepStart is the step of a dead letter whose event Temporal rejected, so that it never had a run.
	StepStart Step = "start"
	// StepDeliver is the step of a failed delivery. The event itself is processed.
	StepDeliver Step = "deliver"
)

// Steps lists all steps.
func Steps() []Step {
	return []Step{StepStart, StepParse, StepFetch, StepPersist, StepUpsert, StepBatch, StepRun, StepDeliver}
}

// DeadLetterState is the state of a dead letter: open → replaying → resolved, open → exhausted, open → discarded → open
// (reopened). An exhausted one has used up its automatic attempts and needs an operator.
type DeadLetterState string

// The states of a dead letter.
const (
	DeadLetterOpen      DeadLetterState = "open"
	DeadLetterReplaying DeadLetterState = "replaying"
	DeadLetterResolved  DeadLetterState = "resolved"
	DeadLetterExhausted DeadLetterState = "exhausted"
	DeadLetterDiscarded DeadLetterState = "discarded"
)

// DeadLetterStates lists all states.
func DeadLetterStates() []DeadLetterState {
	return []DeadLetterState{
		DeadLetterOpen, DeadLetterReplaying, DeadLetterResolved, DeadLetterExhausted, DeadLetterDiscarded,
	}
}

// Phase is the part of the system in which an error occurred.
type Phase string

// The phases, in order.
const (
	PhaseReceive    Phase = "receive"
	PhaseParse      Phase = "parse"
	PhaseFetch      Phase = "fetch"
	PhasePersist    Phase = "persist"
	PhaseUpsert     Phase = "upsert"
	PhaseDeadLetter Phase = "dead_letter"
	PhaseReplay     Phase = "replay"
	// PhaseDeliver is the delivery to destinations.
	PhaseDeliver Phase = "deliver"
	// PhaseUpkeep is work that isn't about an event: purges, sweeps, notifications.
	PhaseUpkeep Phase = "upkeep"
)

// Phases lists all phases, in order.
func Phases() []Phase {
	return []Phase{
		PhaseReceive, PhaseParse, PhaseFetch, PhasePersist, PhaseUpsert, PhaseDeadLetter, PhaseReplay, PhaseDeliver, PhaseUpkeep,
	}
}
