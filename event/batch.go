package event

// Batch says what became of the events that a batch has taken from the inbox.
type Batch struct {
	Events []Batched
	// Again is set if the run had committed its batch before, and this is only what it has left in the tables: duplicates, and
	// events that left it, are not among the events any more.
	Again bool
}

// Batched is one event of a batch.
type Batched struct {
	Receipt Receipt
	// Type is that of the parse step; "" for an event that it did not come to.
	Type string
	// Outcome is OutcomeProcessed, OutcomeIgnored, OutcomeDuplicate or OutcomeLeft.
	Outcome Outcome
	// Owner is the ID of the event that owns the key, if Outcome is OutcomeDuplicate.
	Owner string
	// Reason is why the event left the batch, if Outcome is OutcomeLeft; nil otherwise.
	Reason error
}

// Parser reads what the definition of an event's provider says of it.
type Parser func(r Receipt, body []byte) (Parsed, error)
