package event

// Persisted is the result of the persist step.
type Persisted struct {
	// Duplicate is set if another event owns the key: nothing was stored.
	Duplicate bool `json:"duplicate,omitempty"`
	// Owner is the ID of the event that owns the key, if Duplicate.
	Owner string `json:"owner,omitempty"`
	// Processed is set if the entities were upserted in the same transaction: no step is left.
	Processed bool `json:"processed,omitempty"`
}
