package providers

import (
	"context"
	"time"

	"holdfast/event"
)

// Trace is how an event comes by its rules, its key and its time. What it means says Parse.
type Trace struct {
	// Rules is where the rules for its type stand: "overrides[2]", or "" for the definition's own.
	Rules string
	// KeyParts are the expressions of the key with what each gave.
	KeyParts []ExplainedPart
	// OccurredFrom is the expression that gave the time, with the unit; "" if the time is that of the receipt.
	OccurredFrom string
	// Silent are the fields of the expressions that have failed where that counts as nothing, so that nobody would notice.
	Silent []string
}

// ExplainedPart is one expression of a key.
type ExplainedPart struct {
	Field string `json:"field"`
	Expr  string `json:"expr"`
	// Value is "" where the expression gave nothing.
	Value    string `json:"value"`
	Optional bool   `json:"optional,omitempty"`
	Failed   bool   `json:"failed,omitempty"`
}

// Trace evaluates the expressions of an event one by one, with the part of its request that a scheme has proven. The error is that
// of a body which cannot be decoded; the trace then has the rules alone.
func (p *Provider) Trace(r event.Receipt, body []byte, proven coverage) (Trace, error) {
	field, rules := p.rulesAt(r.Type)
	t := Trace{Rules: field}
	in, err := p.inputOf(r, body)
	if err != nil {
		return t, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), evaluationDeadline)
	defer cancel()
	t.KeyParts = rules.key.trace(ctx, in, proven)
	t.OccurredFrom = occurredFrom(ctx, rules.times, in, r.ReceivedAt)
	for _, x := range p.silent(rules) {
		if _, err := x.first(ctx, in, nil); err != nil {
			t.Silent = append(t.Silent, x.field)
		}
	}
	return t, nil
}

// silent are the expressions whose failure counts as nothing in a running system.
func (p *Provider) silent(r *rules) []*expression {
	all := []*expression{p.sourceOf}
	for i := range p.challenges {
		all = append(all, p.challenges[i].when)
	}
	for _, rule := range r.times {
		all = append(all, rule.expr)
	}
	return all
}

// trace gives what each part of the key is.
func (k *keyRule) trace(ctx context.Context, in input, proven coverage) (parts []ExplainedPart) {
	if k == nil {
		return nil
	}
	if !k.unsigned {
		in = within(proven, in)
	}
	for _, part := range k.parts {
		v, err := part.expr.first(ctx, in, nil)
		value, _ := text(v)
		parts = append(parts, ExplainedPart{
			Field: part.expr.field, Expr: part.expr.source, Value: value, Optional: part.optional, Failed: err != nil,
		})
	}
	return parts
}

// occurredFrom names the expression that gives the time, and the unit that it is in.
func occurredFrom(ctx context.Context, times []timeRule, in input, now time.Time) string {
	for _, rule := range times {
		for _, unit := range rule.units {
			one := []timeRule{{expr: rule.expr, units: []string{unit}}}
			if _, found, err := occurredAt(ctx, one, in, now); err == nil && found {
				return rule.expr.source + " (" + unit + ")"
			}
		}
	}
	return ""
}
