package mapping

import (
	"context"
	"time"

	"holdfast/providers/auth"
	"holdfast/providers/jq"
)

// ExplainedPart is one expression of a key.
type ExplainedPart struct {
	Field string `json:"field"`
	Expr  string `json:"expr"`
	// Value is "" if the expression returned nothing.
	Value    string `json:"value"`
	Optional bool   `json:"optional,omitempty"`
	Failed   bool   `json:"failed,omitempty"`
}

// TraceKey returns the value of each part of the key.
func (r *Rules) TraceKey(ctx context.Context, in jq.Input, proven auth.Coverage) (parts []ExplainedPart) {
	if r.key == nil {
		return nil
	}
	if !r.key.unsigned {
		in = Within(proven, in)
	}
	for _, part := range r.key.parts {
		v, err := part.expr.First(ctx, in, nil)
		value, _ := jq.Text(v)
		parts = append(parts, ExplainedPart{
			Field: part.expr.Field, Expr: part.expr.Source, Value: value, Optional: part.optional, Failed: err != nil,
		})
	}
	return parts
}

// ExplainedTime is an expression for the time of an event.
type ExplainedTime struct {
	Field, Expr string
	Units       []string
	// Value is what it returned, "" for nothing.
	Value string
}

// TraceTime returns the time and the expression that provides it, with its unit; "" if none does. tried are all expressions with
// their values, and all are the same: one that fails counts as missing.
func (r *Rules) TraceTime(
	ctx context.Context, in jq.Input, receivedAt time.Time,
) (at time.Time, from string, tried []ExplainedTime, all []*jq.Expression) {
	for _, rule := range r.times {
		all = append(all, rule.expr)
		v, _ := rule.expr.First(ctx, in, nil)
		value, _ := jq.Text(v)
		tried = append(tried, ExplainedTime{Field: rule.expr.Field, Expr: rule.expr.Source, Units: rule.units, Value: value})
		for _, unit := range rule.units {
			one := []timeRule{{expr: rule.expr, units: []string{unit}}}
			if found, ok, err := occurredAt(ctx, one, in, receivedAt); from == "" && err == nil && ok {
				at, from = found, rule.expr.Source+" ("+unit+")"
			}
		}
	}
	return at, from, tried, all
}
