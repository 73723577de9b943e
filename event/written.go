package event

// Scope is how much of an event is written.
type Scope int

const (
	// WholeEvent claims the event's key, stores the event, folds its changes into entities, marks it processed and resolves its
	// dead letter, in one transaction that it may share with concurrent events. It waits only briefly for locks.
	WholeEvent Scope = iota
	// RowOnly claims the key and stores the event, in one transaction. It also finishes an event that its definition ignores.
	RowOnly
	// EntitiesOnly does the rest for an event that has its row, in one transaction, or a page of changes in each of several: the
	// last one finishes the event.
	EntitiesOnly
	// WholeOrRow is WholeEvent, and RowOnly if that fails, unless an operator must decide or has decided about the event.
	WholeOrRow
)

// Written is the effect of a transaction on an event.
type Written struct {
	// Outcome is empty if the entities are still to be upserted.
	Outcome Outcome
	// Owner is the ID of the event that owns the key, and OwnerStatus its status, if Outcome is OutcomeDuplicate: nothing was
	// stored. OwnerStatus is "" if the owner has no row.
	Owner       string
	OwnerStatus Status
	// OwnerWaits: the owner isn't being processed. Conflict is set if the contents differ.
	OwnerWaits bool
	Conflict   *Conflict
	// WithoutEffect counts changes whose part of the history is collapsed.
	WithoutEffect int
	// Entities describes what the transaction did to entities, if Outcome is OutcomeProcessed.
	Entities []string
	// Decision is set if an operator decided about the event: nothing was stored.
	Decision *Decision
	// Held is set if only an operator may accept the event (ClassInDoubt or ClassConflict): nothing was stored.
	Held *Error
	// PossibleDuplicateOf is the ID of the first event with the same content in 30 days, if the key is guessed.
	PossibleDuplicateOf string
}

// Persisted is the result of the persist step.
type Persisted struct {
	// Duplicate: another event owns the key, so nothing was stored.
	Duplicate bool `json:"duplicate,omitempty"`
	// Owner is the ID of the event that owns the key, if Duplicate.
	Owner string `json:"owner,omitempty"`
	// Conflict is set if the contents differ.
	Conflict *Conflict `json:"conflict,omitempty"`
	// PossibleDuplicateOf is the ID of an earlier event with the same content, if the key is guessed. It is set if this one was
	// accepted, or together with the error of an event that is held for the first time.
	PossibleDuplicateOf string `json:"possible_duplicate_of,omitempty"`
	// OwnerWaits: the owner is a dead letter, or unfinished without an open run, so this is its redelivery.
	OwnerWaits bool `json:"owner_waits,omitempty"`
	// Processed: the entities were upserted in the same transaction.
	Processed bool `json:"processed,omitempty"`
	// Entities describes what it did to them, if Processed. Workers of earlier releases don't set it.
	Entities []string `json:"entities,omitempty"`
	// WithoutEffect counts changes whose part of the history is collapsed, if Processed.
	WithoutEffect int `json:"without_effect,omitempty"`
	// Decision is set if an operator decided about the event: nothing was stored. Then PassedTo is the event that has its key now,
	// if that is another one.
	Decision *Decision `json:"decision,omitempty"`
	PassedTo *KeyOwner `json:"passed_to,omitempty"`
}

// Batched is the result of an event in a batch.
type Batched struct {
	Receipt Receipt
	// Type is the type from the parse step, if it ran.
	Type string
	// Mapping is the parse step's, if it ran.
	Mapping Mapping
	// Omitted lists the entities that were left out.
	Omitted *Omitted
	// Outcome is OutcomeProcessed, OutcomeIgnored, OutcomeDuplicate or OutcomeLeft.
	Outcome Outcome
	// Owner is the ID of the event that owns the key, if Outcome is OutcomeDuplicate.
	Owner string
	// WithoutEffect counts changes whose part of the history is collapsed.
	WithoutEffect int
	// PossibleDuplicateOf is the ID of the first event with the same content, if this one was accepted or is held for the first
	// time.
	PossibleDuplicateOf string
	// Reason is why the event left the batch, if Outcome is OutcomeLeft.
	Reason error
}
