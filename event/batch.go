package event

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
	// Reason is why the event left the batch, if Outcome is OutcomeLeft; nil otherwise.
	Reason error
}

// Parser reads what the definition of an event's provider says of it.
type Parser func(r Receipt, body []byte) (Parsed, error)
