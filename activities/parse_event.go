package activities

import (
	"context"

	"go.temporal.io/sdk/converter"

	"holdfast/event"
	"holdfast/providers"
)

// ParseEvent reads the event as its provider's definition says. Its result carries everything that the later steps need of
// the definition, so a run that is reset to its start picks up a corrected one. Where the event's changes are too large for that
// the result only says so.
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

// SafeParser reads events by the definitions that the catalogue has at that moment. A definition that panics over one event does
// not fail the others.
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
