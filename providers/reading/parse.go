package reading

import (
	"context"

	"holdfast/event"
	"holdfast/providers/decode"
	"holdfast/providers/jq"
	"holdfast/providers/mapping"
)

// UnknownType is the type of an event without one.
const UnknownType = "unknown"

// Parse reads what an event means. It depends only on the receipt, the body and the definition, so that a retry, a reset and a
// replay have the same result, and a new one after the definition has been corrected. Errors are *event.Error: ClassRejected if
// the event is at fault, ClassFailed if the definition is.
//
// If the state of what the event names must be fetched first, the result says so, and is that of the event without it.
//
// A large body waits for its turn (see decode.Turn).
func (p *Reader) Parse(r event.Receipt, body []byte) (event.Parsed, error) {
	if err := checkCut(r); err != nil {
		return event.Parsed{}, err
	}
	done, err := decode.Turn(context.Background(), len(body))
	if err != nil {
		return event.Parsed{}, err
	}
	defer done()
	ctx, cancel := context.WithTimeout(context.Background(), jq.DeadlineOf(len(body)))
	defer cancel()
	in, eventType, err := p.read(ctx, r, body)
	if err != nil {
		return event.Parsed{}, err
	}
	if err := p.checkRefusals(ctx, r, in); err != nil {
		return event.Parsed{}, err
	}
	rules := p.mapping.For(eventType)
	if eventType == "" {
		if p.needsType {
			return event.Parsed{}, p.missingType(ctx, in)
		}
		eventType = UnknownType
	}
	if err := p.checkKey(ctx, r, rules, in, body); err != nil {
		return event.Parsed{}, err
	}
	if in.Source, err = p.sourceText(ctx, in); err != nil {
		return event.Parsed{}, err
	}
	plan, err := p.addFetched(ctx, &r, eventType, in)
	if err != nil {
		return event.Parsed{}, err
	}
	parsed, err := rules.Parse(ctx, r, eventType, in)
	if err != nil && plan != nil && r.Fetched != nil { // a rule may need the state that comes next
		r.Fetched = nil
		parsed, err = rules.Parse(ctx, r, eventType, in)
	}
	parsed.RejectRedelivery = p.rejectsRedelivery
	if err == nil {
		parsed.Identity, err = p.identifyAgain(ctx, r, body)
	}
	if parsed.Outcome == event.OutcomeProcessed {
		parsed.Fetch = plan
	}
	return parsed, err
}

// missingType names what gave no type.
func (p *Reader) missingType(ctx context.Context, in jq.Input) error {
	if p.typeOf == nil {
		return event.Rejectf("missing_type", "the event has no type")
	}
	v, err := p.typeOf.First(ctx, in, nil)
	return event.Rejectf("missing_type", "the event has no type: %s", p.typeOf.NoValue(v, err))
}

func (p *Reader) read(ctx context.Context, r event.Receipt, body []byte) (in jq.Input, eventType string, err error) {
	if in, err = p.inputOf(r, body); err != nil {
		return in, "", err
	}
	if eventType, err = p.eventType(ctx, in); err != nil {
		return in, "", p.typeOf.Failed(err)
	}
	return in, eventType, nil
}

// inputOf decodes an event and its envelope.
func (p *Reader) inputOf(r event.Receipt, body []byte) (jq.Input, error) {
	if len(p.batch) > 0 && r.Root == nil {
		if _, err := decode.JSON(body); err != nil {
			return jq.Input{}, err
		}
		return jq.Input{}, event.Rejectf("missing_items", "the batch has no list of events at batch.items, or one out of bounds; "+
			"a list in each item of another is for batch.parts")
	}
	v, err := p.decoders.Decode(r.Headers["content-type"], body)
	if err != nil {
		return jq.Input{}, err
	}
	var root any
	if r.Root != nil {
		if root, err = decode.JSON(r.Root); err != nil {
			return jq.Input{}, err
		}
	}
	return jq.NewInput(r.Headers, r.Query, r.Path, v, root), nil
}

// checkKey rejects an event that arrived without identity, unless the current definition can identify it.
func (p *Reader) checkKey(ctx context.Context, r event.Receipt, rules *mapping.Rules, in jq.Input, body []byte) error {
	if r.KeyFrom != event.KeyFromNothing {
		return nil
	}
	why, err := rules.MissingKey(ctx, in, body)
	if err != nil {
		return p.typeOf.Failed(err)
	}
	if why != "" {
		return event.Rejectf("missing_key", "the event carries no idempotency key: %s", why)
	}
	return nil
}
