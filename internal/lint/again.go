package lint

import (
	"holdfast/event"
	"holdfast/providers"
)

// ParsedAgain is what the parse step would make of a received event now.
type ParsedAgain struct {
	event.Parsed

	// DeadLetter is why the event would become a dead letter again; nil if parsing would succeed.
	DeadLetter *ExplainedFailure
}

// ParseAgain does to a received event what the parse step would do with the definitions of the catalogue. It asks no provider's
// API and changes nothing.
func ParseAgain(c *providers.Catalogue, r event.Receipt, body []byte) ParsedAgain {
	parsed, err := providers.SplittingParser(c.Lookup)(r, body)
	return ParsedAgain{parsed, failureOf(err)}
}
