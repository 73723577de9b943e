package activities

import (
	"context"

	"go.temporal.io/sdk/converter"

	"holdfast/event"
	"holdfast/providers"
)

// ParseEvent parses the event with its provider's definition. Its result has everything that the later steps need, so that a run
// reset to its start picks up a corrected definition. If the changes are too large, the result only says so.
func (a *Activities) ParseEvent(_ context.Context, r event.Receipt, body converter.RawValue) (event.Parsed, error) {
	p, err := a.parse(r, body.Payload().GetData())
	if isLarge(p) {
		return event.Parsed{Large: true}, err
	}
	return p, err
}

func (a *Activities) parse(r event.Receipt, body []byte) (event.Parsed, error) {
	return providers.Parser(a.Catalogue.Lookup)(r, body)
}

// SafeParser parses events with the current definitions. If a definition panics on an event, only that event fails.
func SafeParser(c Catalogue) event.Parser {
	return func(r event.Receipt, body []byte) (p event.Parsed, err error) {
		defer func() {
			if value := recover(); value != nil {
				err = panicError(value)
			}
		}()
		return providers.Parser(c.Lookup)(r, body)
	}
}
