package providers

import (
	"context"
	"time"
)

// ExplainedPart is one expression of a key.
type ExplainedPart struct {
	Field string `json:"field"`
	Expr  string `json:"expr"`
	// Value is "" where the expression gave nothing.
	Value    string `json:"value"`
	Optional bool   `json:"optional,omitempty"`
	Failed   bool   `json:"failed,omitempty"`
}

// traceKey gives what each part of the key is.
func (r *rules) traceKey(ctx context.Context, in input, proven coverage) (parts []ExplainedPart) {
	if r.key == nil {
		return nil
	}
	if !r.key.unsigned {
		in = within(proven, in)
	}
	for _, part := range r.key.parts {
		v, err := part.expr.first(ctx, in, nil)
		value, _ := text(v)
		parts = append(parts, ExplainedPart{
			Field: part.expr.field, Expr: part.expr.source, Value: value, Optional: part.optional, Failed: err != nil,
		})
	}
	return parts
}

// traceTime names the expression that gives the time, and the unit that it is in. It also gives all of them: one that fails counts
// as one that gives nothing.
func (r *rules) traceTime(ctx context.Context, in input, receivedAt time.Time) (from string, all []*expression) {
	for _, rule := range r.times {
		all = append(all, rule.expr)
		for _, unit := range rule.units {
			one := []timeRule{{expr: rule.expr, units: []string{unit}}}
			if _, found, err := occurredAt(ctx, one, in, receivedAt); from == "" && err == nil && found {
				from = rule.expr.source + " (" + unit + ")"
			}
		}
	}
	return from, all
}
