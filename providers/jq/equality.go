package jq

import (
	"context"
	"encoding/json"
	"math"
	"strconv"

	"github.com/itchyny/gojq"
)

// Equality is a comparison of what stands at a path with a literal: .body.account == "a7".
type Equality struct {
	Names []string
	// Value is that of the literal, in the form of Comparable.
	Value string
}

// RequiredEquality gives the first comparison of a path with a text, a number or a boolean that has to hold for the source to
// give true: it is all of it (alone), or one of the parts that "and" joins. ok is false where there is none, or the source is no
// jq.
func RequiredEquality(source string) (e Equality, alone, ok bool) {
	query, err := parse(source)
	if err != nil {
		return Equality{}, false, false
	}
	parts := conjuncts(query, nil)
	for _, part := range parts {
		if e, ok := equalityOf(part); ok {
			return e, len(parts) == 1, true
		}
	}
	return Equality{}, false, false
}

// conjuncts are the parts that "and" joins.
func conjuncts(q *gojq.Query, parts []*gojq.Query) []*gojq.Query {
	switch {
	case q == nil || len(q.FuncDefs) > 0 || len(q.Patterns) > 0 || q.Meta != nil || len(q.Imports) > 0:
		return append(parts, q)
	case q.Op == gojq.OpAnd:
		return conjuncts(q.Right, conjuncts(q.Left, parts))
	case q.Term != nil && q.Term.Type == gojq.TermTypeQuery && len(q.Term.SuffixList) == 0:
		return conjuncts(q.Term.Query, parts)
	}
	return append(parts, q)
}

func equalityOf(q *gojq.Query) (e Equality, ok bool) {
	if q == nil || q.Op != gojq.OpEq || len(q.FuncDefs) > 0 || len(q.Patterns) > 0 {
		return e, false
	}
	for _, sides := range [][2]*gojq.Query{{q.Left, q.Right}, {q.Right, q.Left}} {
		names := namesOf(sides[0])
		value, isLiteral := literalOf(sides[1])
		if names != nil && isLiteral {
			return Equality{Names: names, Value: value}, true
		}
	}
	return e, false
}

// literalOf is the value of a text, a number or a boolean that is written in a query.
func literalOf(q *gojq.Query) (value string, ok bool) {
	if !isLiteral(q) {
		return "", false
	}
	switch t := q.Term; t.Type { //nolint:exhaustive // null is what is not there, too
	case gojq.TermTypeString:
		return Comparable(t.Str.Str)
	case gojq.TermTypeTrue, gojq.TermTypeFalse:
		return Comparable(t.Type == gojq.TermTypeTrue)
	case gojq.TermTypeNumber:
		return Comparable(json.Number(t.Number))
	}
	return "", false
}

// exact bounds the whole numbers of which a float64 holds each.
const exact = 1 << 53

// Comparable is a text that two values have in common where jq finds them equal. ok is false for what is no text, number or
// boolean, and for numbers so large that jq compares them otherwise than as float64.
func Comparable(v any) (text string, ok bool) {
	switch v := v.(type) {
	case string:
		return `"` + v, true
	case bool:
		return strconv.FormatBool(v), true
	case json.Number:
		n, err := v.Float64()
		if err != nil || !(math.Abs(n) < exact) {
			return "", false
		}
		return strconv.FormatFloat(n+0, 'g', -1, 64), true // there is one zero
	}
	return "", false
}

// At is what stands at a path of names; nil where that leads nowhere, or through what is no object.
func (in Input) At(names []string) any {
	v, err := lookUp(in.Value, names)
	if err != nil {
		return nil
	}
	return v
}

// Budget bounds an evaluation: Steps of jq's machine, and a Cost of about a byte that is copied, looked at or kept.
type Budget struct{ Steps, Cost int }

// FirstWithin is First within a smaller budget than that of expressions of definitions.
func (x *Expression) FirstWithin(ctx context.Context, in Input, b Budget) (first any, err error) {
	err = x.run(newMeterOf(ctx, b), in, nil, func(v any) bool {
		first = v
		return false
	})
	return first, err
}
