package providers

import (
	"context"

	"holdfast/event"
)

// UnknownType is the type of an event that names none.
const UnknownType = "unknown"

// Parse reads what an event means. It depends on the receipt, the body and the definition alone, so that a retry, a
// reset and a replay come to the same result, and to a new one after the definition has been corrected. Errors are
// *event.Error: ClassRejected if it is the event's own fault, ClassFailed if it is the definition's.
func (p *Provider) Parse(r event.Receipt, body []byte) (event.Parsed, error) {
	ctx, cancel := context.WithTimeout(context.Background(), evaluationDeadline)
	defer cancel()
	in, err := p.inputOf(r, body)
	if err != nil {
		return event.Parsed{}, err
	}
	eventType, err := p.eventType(ctx, in)
	if err != nil {
		return event.Parsed{}, p.typeOf.failed(err)
	}
	rules := p.mapping.rulesFor(eventType)
	if eventType == "" {
		eventType = UnknownType
	}
	if err := p.checkKey(ctx, r, rules, in, body); err != nil {
		return event.Parsed{}, err
	}
	if in.source, err = p.sourceText(ctx, in); err != nil {
		return event.Parsed{}, err
	}
	parsed, err := rules.parse(ctx, r, eventType, in)
	parsed.RejectRedelivery = p.redelivery == RejectRedelivery
	return parsed, err
}

// inputOf decodes an event and the envelope that it came from.
func (p *Provider) inputOf(r event.Receipt, body []byte) (input, error) {
	if len(p.batch) > 0 && r.Root == nil {
		if _, err := decodeJSON(body); err != nil {
			return input{}, err
		}
		return input{}, event.Rejectf("missing_items", "the batch has no list of events, or one out of bounds")
	}
	v, err := p.decoders.decode(r.Headers["content-type"], body)
	if err != nil {
		return input{}, err
	}
	var root any
	if r.Root != nil {
		if root, err = decodeJSON(r.Root); err != nil {
			return input{}, err
		}
	}
	return newInput(r.Headers, r.Query, r.Path, v, root), nil
}

// checkKey rejects an event that came without identity, unless the definition can give it one by now.
func (p *Provider) checkKey(ctx context.Context, r event.Receipt, rules *rules, in input, body []byte) error {
	if r.KeyFrom != event.KeyFromNothing {
		return nil
	}
	can, err := rules.canIdentify(ctx, in, body)
	if err != nil {
		return p.typeOf.failed(err)
	}
	if !can {
		return event.Rejectf("missing_key", "the event carries no idempotency key")
	}
	return nil
}
