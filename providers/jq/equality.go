package jq

import (
	"context"
	"encoding/json"
	"math"
	"strconv"

	"github.com/itchyny/gojq"
)

// Equality compares the value at a path with a literal: .body.account == "a7".
type Equality struct {
	Names []string
	// Value is the literal's value, in the form of Comparable.
	Value string
}

// RequiredEquality returns the first comparison of a path with a text, a number or a boolean that is necessary for the source
// to return true: it is the whole source (alone), or one of the parts that "and" joins. ok is false if there is none, or the
// source isn't jq.
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

// conjuncts returns the parts that "and" joins.
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

// literalOf returns the value of a literal text, number or boolean.
func literalOf(q *gojq.Query) (value string, ok bool) {
	if !isLiteral(q) {
		return "", false
	}
	switch t := q.Term; t.Type { //nolint:exhaustive // null also stands for a missing value
	case gojq.TermTypeString:
		return Comparable(t.Str.Str)
	case gojq.TermTypeTrue, gojq.TermTypeFalse:
		return Comparable(t.Type == gojq.TermTypeTrue)
	case gojq.TermTypeNumber:
		return Comparable(json.Number(t.Number))
	}
	return "", false
}

// exact is the limit up to which a float64 represents every whole number.
const exact = 1 << 53

// Comparable returns equal texts for values that jq finds equal. ok is false for anything other than a text, number or boolean,
// and for numbers so large that jq doesn't compare them as float64.
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
		return strconv.FormatFloat(n+0, 'g', -1, 64), true // normalizes -0
	}
	return "", false
}

// At returns the value at a path of names; nil if it is missing, or a parent isn't an object.
func (in Input) At(names []string) any {
	v, err := lookUp(in.Value, names)
	if err != nil {
		return nil
	}
	return v
}

// Budget limits an evaluation: Steps of jq's machine, and a Cost of about one for each byte that is copied, read or kept.
type Budget struct{ Steps, Cost int }

// FirstWithin is First within a smaller budget than expressions of definitions have.
func (x *Expression) FirstWithin(ctx context.Context, in Input, b Budget) (first any, err error) {
	err = x.run(newMeterOf(ctx, b), in, nil, func(v any) bool {
		first = v
		return false
	})
	return first, err
}
