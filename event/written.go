package event

// Written is what a transaction has done to an event.
type Written struct {
	// Outcome is how the event has ended; "" if its entities are still to be upserted.
	Outcome Outcome
	// Owner is the ID of the event that owns the key, and OwnerStatus where that stands, if Outcome is OutcomeDuplicate:
	// nothing was stored. OwnerStatus is "" where the owner has no row.
	Owner       string
	OwnerStatus Status
	// OwnerWaits says that a dead letter of the owner waits, and Conflict that it is another event.
	OwnerWaits bool
	Conflict   *Conflict
	// WithoutEffect is how many changes came too late: the history in which they belong is collapsed.
	WithoutEffect int
	// Verdict is why nothing was done, where an operator has decided about the event; Outcome is its.
	Verdict *Verdict
}
