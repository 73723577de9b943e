package event

// Written is what a transaction has done to an event.
type Written struct {
	// Outcome is how the event has ended; "" if its entities are still to be upserted.
	Outcome Outcome
	// Owner is the ID of the event that owns the key, and OwnerStatus where that stands, if Outcome is OutcomeDuplicate:
	// nothing was stored. OwnerStatus is "" where the owner has no row.
	Owner       string
	OwnerStatus Status
	// OwnerWaits says that nothing works on the owner, and Conflict that it is another event.
	OwnerWaits bool
	Conflict   *Conflict
	// WithoutEffect is how many changes came too late: the history in which they belong is collapsed.
	WithoutEffect int
	// Entities says what the transaction has done to the entities of the event, if Outcome is OutcomeProcessed.
	Entities []string
	// Verdict is why nothing was done, where an operator has decided about the event; Outcome is its.
	Verdict *Verdict
	// Held is why nothing was done, where only an operator may accept the event: ClassInDoubt or ClassConflict.
	Held *Error
	// PossibleDuplicateOf is the ID of the first event with the same content in 30 days, if the key is guessed; "" if there is
	// none.
	PossibleDuplicateOf string
}

// Persisted is the result of the persist step.
type Persisted struct {
	// Duplicate is set if another event owns the key: nothing was stored.
	Duplicate bool `json:"duplicate,omitempty"`
	// Owner is the ID of the event that owns the key, if Duplicate.
	Owner string `json:"owner,omitempty"`
	// Conflict is set, too, if it is not that event that came again.
	Conflict *Conflict `json:"conflict,omitempty"`
	// PossibleDuplicateOf is the ID of an earlier event with the same content, if the key is guessed: this one was accepted. It is
	// also set beside the error of an event that is held for the first time.
	PossibleDuplicateOf string `json:"possible_duplicate_of,omitempty"`
	// OwnerWaits says that a dead letter of the owner waits, or that the owner is unfinished and no run of it is open: this is its
	// redelivery.
	OwnerWaits bool `json:"owner_waits,omitempty"`
	// Processed is set if the entities were upserted in the same transaction.
	Processed bool `json:"processed,omitempty"`
	// Entities says what it has done to them, if Processed. Workers of earlier releases didn't say so.
	Entities []string `json:"entities,omitempty"`
	// WithoutEffect is how many changes came too late to show, if Processed.
	WithoutEffect int `json:"without_effect,omitempty"`
	// Verdict is set if an operator has decided about the event: nothing was stored.
	Verdict *Verdict `json:"verdict,omitempty"`
}

// Batched says what became of an event that a batch has taken from the inbox.
type Batched struct {
	Receipt Receipt
	// Type is that of the parse step; "" for an event that it did not come to.
	Type string
	// Outcome is OutcomeProcessed, OutcomeIgnored, OutcomeDuplicate or OutcomeLeft.
	Outcome Outcome
	// Owner is the ID of the event that owns the key, if Outcome is OutcomeDuplicate.
	Owner string
	// WithoutEffect is how many changes came too late to show.
	WithoutEffect int
	// PossibleDuplicateOf is the ID of the first event with the same content, if this one was accepted or is held for the first
	// time; "" if there is none.
	PossibleDuplicateOf string
	// Reason is why the event left the batch, if Outcome is OutcomeLeft; nil otherwise.
	Reason error
}
