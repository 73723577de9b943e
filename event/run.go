package event

// Persisted is the result of the persist step.
type Persisted struct {
	// Duplicate is set if another event owns the key: nothing was stored.
	Duplicate bool `json:"duplicate,omitempty"`
	// Owner is the ID of the event that owns the key, if Duplicate.
	Owner string `json:"owner,omitempty"`
	// Conflict is set, too, if it is not that event that came again.
	Conflict *Conflict `json:"conflict,omitempty"`
	// OwnerWaits says that a dead letter of the owner waits: this is its redelivery.
	OwnerWaits bool `json:"owner_waits,omitempty"`
	// Processed is set if the entities were upserted in the same transaction: no step is left.
	Processed bool `json:"processed,omitempty"`
	// WithoutEffect is how many changes came too late to show, if Processed.
	WithoutEffect int `json:"without_effect,omitempty"`
	// Verdict is set if an operator has decided about the event: nothing was stored.
	Verdict *Verdict `json:"verdict,omitempty"`
}
