package jq

import (
	"reflect"

	"github.com/itchyny/gojq"
)

// The names in metered queries. They can't collide with the author's own, which must not begin with an underscore.
const (
	chargeName    = "_charge"
	meterVariable = "$__meter"
	leftVariable  = "$__left"
	rightVariable = "$__right"
)

// metering rewrites a query so that whatever costs more than a step is charged for before it is done. jq's machine has no bounds
// of its own: a number in a body can be the length of an array.
type metering struct {
	// placing is set where a value may be written to the path that a part of the query names: left of an assignment, and anywhere
	// once there are functions, which may be used there.
	placing bool
}

// compileMetered compiles a query, and modifies it.
func compileMetered(q *gojq.Query) (*gojq.Code, error) {
	m := metering{placing: definesFunctions(q)}
	m.visit(reflect.ValueOf(q))
	return gojq.Compile(q, gojq.WithVariables([]string{"$root", "$item", meterVariable}),
		gojq.WithFunction(chargeName, 4, 4, chargeFunction), gojq.WithFunction(givenName, 0, 0, givenFunction))
}

func definesFunctions(q *gojq.Query) (found bool) {
	walk(reflect.ValueOf(q), func(node any) {
		_, is := node.(*gojq.FuncDef)
		found = found || is
	})
	return found
}

// visit rewrites the inner parts first, so that it never visits its own output.
func (m metering) visit(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return
		}
		q, isQuery := v.Interface().(*gojq.Query)
		if isQuery && isUpdate(q.Op) {
			left := metering{placing: true}
			left.visit(reflect.ValueOf(q.Left))
			m.visit(reflect.ValueOf(q.Right))
			m.visit(reflect.ValueOf(q.FuncDefs))
		} else {
			m.visit(v.Elem())
		}
		m.rewrite(v.Interface())
	case reflect.Struct:
		for i := range v.NumField() {
			m.visit(v.Field(i))
		}
	case reflect.Slice:
		for i := range v.Len() {
			m.visit(v.Index(i))
		}
	}
}

func (m metering) rewrite(node any) {
	switch node := node.(type) {
	case *gojq.Query:
		m.rewriteQuery(node)
	case *gojq.Term:
		m.rewriteTerm(node)
	case *gojq.String:
		for i, q := range node.Queries {
			if q.Term == nil || q.Term.Str == nil { // the parts between are literal text
				charged := pipe(q, charge(costSize, itself(), nil))
				node.Queries[i] = &gojq.Query{Term: &gojq.Term{Type: gojq.TermTypeQuery, Query: charged}}
			}
		}
	case *gojq.Index:
		if !node.IsSlice && node.Start != nil && !isLiteral(node.Start) {
			kind := costLookUp
			if m.placing {
				kind = costPlace
			}
			node.Start = pipe(node.Start, charge(kind, itself(), nil))
		}
	}
}

// rewriteQuery turns L + R into R as $right | L as $left | charge | $left + $right, which is how jq evaluates it. L += R
// becomes R as $right | L |= . + $right.
func (m metering) rewriteQuery(q *gojq.Query) {
	operator := q.Op
	if plain, ok := updates[q.Op]; ok {
		operator = plain
	}
	kind, ok := operatorCosts[operator]
	if !ok || isCheap(kind, q.Left, q.Right) && operator == q.Op {
		return
	}
	left, right := variable(leftVariable), variable(rightVariable)
	sum := pipe(charge(kind, left, right), &gojq.Query{Op: operator, Left: left, Right: right})
	if operator == q.Op {
		sum = bind(q.Left, leftVariable, sum)
	} else {
		sum = &gojq.Query{Op: gojq.OpModify, Left: q.Left, Right: bind(itself(), leftVariable, sum)}
	}
	made := bind(q.Right, rightVariable, sum)
	made.FuncDefs = q.FuncDefs
	*q = *made
}

// isCheap reports whether an operation costs no more than a step: a comparison with something short, or arithmetic with
// constants.
func isCheap(kind cost, left, right *gojq.Query) bool {
	if kind == costSize {
		return isLiteral(left) || isLiteral(right)
	}
	return isLiteral(left) && isLiteral(right) && kind == costWidth
}

func (m metering) rewriteTerm(t *gojq.Term) {
	for i := len(t.SuffixList) - 1; i >= 0; i-- {
		if !t.SuffixList[i].Iter {
			continue
		}
		over := *t
		over.SuffixList = t.SuffixList[:i:i]
		m.rewriteTerm(&over)
		*t = gojq.Term{
			Type: gojq.TermTypeQuery, SuffixList: t.SuffixList[i:],
			Query: pipe(&gojq.Query{Term: &over}, charge(costWidth, itself(), nil)),
		}
		return
	}
	bare := *t
	bare.SuffixList = nil
	if made := meteredCall(&bare); made != nil {
		*t = gojq.Term{Type: gojq.TermTypeQuery, SuffixList: t.SuffixList, Query: made}
	}
}

// meteredCall charges for a function call or a format; nil if it is free.
func meteredCall(t *gojq.Term) *gojq.Query {
	call := &gojq.Query{Term: t}
	if t.Type == gojq.TermTypeFormat && t.Str == nil {
		return pipe(charge(costSize, itself(), nil), call)
	}
	if t.Type != gojq.TermTypeFunc {
		return nil
	}
	kind, ok := costs[signature(t.Func)]
	switch {
	case !ok:
		return nil
	case kind == costProduct || kind == costJoin:
		right := variable(rightVariable)
		argument := t.Func.Args[0]
		t.Func.Args = []*gojq.Query{right}
		return bind(argument, rightVariable, pipe(charge(kind, itself(), right), call))
	case kind == costSize:
		for i, argument := range t.Func.Args {
			t.Func.Args[i] = pipe(argument, charge(costSize, itself(), nil))
		}
	}
	return pipe(charge(kind, itself(), nil), call)
}
