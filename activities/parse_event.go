package activities

import (
	"context"

	"go.temporal.io/sdk/converter"

	"holdfast/event"
	"holdfast/providers"
)

// ParseEvent parses the event with its provider's definition. Its result has everything that the later steps need, so that a run
// reset to its start picks up a corrected definition. If the changes are too large, the result only says so.
//
// If the state of what the event names is stored, the result is that of both. If FetchState must get it first, the result says
// so.
func (a *Activities) ParseEvent(ctx context.Context, r event.Receipt, body converter.RawValue) (event.Parsed, error) {
	p, err := a.parse(ctx, r, body.Payload().GetData())
	if isLarge(p) {
		return event.Parsed{Large: true}, err
	}
	return p, err
}

func (a *Activities) parse(ctx context.Context, r event.Receipt, body []byte) (event.Parsed, error) {
	p, err := a.parser()(r, body)
	if err != nil || p.Fetch == nil {
		return p, err
	}
	return a.addFetched(ctx, r, body, p)
}

func (a *Activities) parser() event.Parser {
	return func(r event.Receipt, body []byte) (event.Parsed, error) {
		return providers.SplittingParser(a.Catalogue.Lookup)(r, body)
	}
}

// SafeParser parses stored events with the current definitions. If a definition panics on an event, only that event fails.
func SafeParser(c Catalogue) event.Parser { return recoverPanics(providers.Parser(c.Lookup)) }

// SafeSplittingParser is SafeParser that also says which events the definitions split.
func SafeSplittingParser(c Catalogue) event.Parser {
	return recoverPanics(providers.SplittingParser(c.Lookup))
}

func recoverPanics(parse event.Parser) event.Parser {
	return func(r event.Receipt, body []byte) (p event.Parsed, err error) {
		defer func() {
			if value := recover(); value != nil {
				err = panicError(value)
			}
		}()
		return parse(r, body)
	}
}
