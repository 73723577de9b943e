package queues

// Message is a message of a queue. Its broker has authenticated the sender.
type Message struct {
	// Provider is the name of the definition.
	Provider string
	// Header has lower-case names.
	Header map[string][]string
	Body   []byte
	// Position is what only deliveries of this message have in common, such as its number in a stream; "" if the broker has none.
	Position string
	// Redeliveries is how often the broker has delivered the message before, to any reader; 0 if it doesn't count.
	Redeliveries int
	// Unsplit passes the message on as a whole: it couldn't be split.
	Unsplit bool
}

// SplitError means that a message couldn't be split into events, in time or at all, which may be its own fault.
type SplitError struct{ Cause error }

// Error describes the cause.
func (e *SplitError) Error() string { return "split message: " + e.Cause.Error() }

// Unwrap returns the cause.
func (e *SplitError) Unwrap() error { return e.Cause }
