package reading

import (
	"context"
	"time"

	"holdfast/event"
	"holdfast/providers/auth"
	"holdfast/providers/jq"
	"holdfast/providers/mapping"
)

// Trace shows how the rules, the key and the time of an event are determined. Parse returns its meaning.
type Trace struct {
	// Rules is the field with the rules for its type: "overrides[2]", or "" for the definition's own.
	Rules string
	// KeyParts are the expressions of the key with their results.
	KeyParts []mapping.ExplainedPart
	// OccurredAt is the event's time, and OccurredFrom its expression with the unit: zero and "" if the event has the time of its
	// receipt.
	OccurredAt   time.Time
	OccurredFrom string
	// Times are the expressions for the time with their values.
	Times []mapping.ExplainedTime
	// Entities are the rules for entities with their results; nil if one fails.
	Entities []mapping.ExplainedRule
	// Silent lists the fields of expressions whose failure counts as no value and is otherwise invisible.
	Silent []string
}

// Trace evaluates the expressions of an event one by one, with the part of its request that a scheme has proven. If the body
// can't be decoded, it returns that error and a trace with only the rules.
func (p *Reader) Trace(r event.Receipt, body []byte, proven auth.Coverage) (Trace, error) {
	rules := p.mapping.For(r.Type)
	t := Trace{Rules: p.mapping.At(r.Type)}
	in, err := p.inputOf(r, body)
	if err != nil {
		return t, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), jq.DeadlineOf(len(body)))
	defer cancel()
	t.KeyParts = rules.TraceKey(ctx, in, proven)
	if in.Source, err = p.sourceText(ctx, in); err == nil {
		t.Entities = rules.TraceEntities(ctx, r, r.Type, in)
	}
	var silent []*jq.Expression
	t.OccurredAt, t.OccurredFrom, t.Times, silent = rules.TraceTime(ctx, in, r.ReceivedAt)
	silent = append(silent, p.sourceOf)
	for _, x := range append(silent, p.conditions...) {
		if _, err := x.First(ctx, in, nil); err != nil {
			t.Silent = append(t.Silent, x.Field)
		}
	}
	return t, nil
}
