package lint

import (
	"holdfast/event"
	"holdfast/providers"
	"holdfast/providers/auth"
	"holdfast/providers/reading"
)

// ParsedAgain is what the parse step would make of a received event now.
type ParsedAgain struct {
	event.Parsed

	// DeadLetter is why the event would become a dead letter again; nil if parsing would succeed.
	DeadLetter *ExplainedFailure
}

// ExplainStored says what the parse step would make of a received event now, and what each rule for entities finds. The
// key and the window are the definition's if it has changed since and finds others. An event that would be split is explained as
// a whole.
func ExplainStored(p *providers.Provider, r event.Receipt, body []byte) ExplainedEvent {
	item := reading.Item{Received: event.Received{Receipt: r, Body: body}}
	explained, _ := explain(p, &item, auth.Coverage{All: true}, r.ReceivedAt)
	return explained
}

// ParseAgain does to a received event what the parse step would do with the definitions of the catalogue. It asks no provider's
// API and changes nothing.
func ParseAgain(c *providers.Catalogue, r event.Receipt, body []byte) ParsedAgain {
	parsed, err := providers.SplittingParser(c.Lookup)(r, body)
	return ParsedAgain{parsed, failureOf(err)}
}
