package jq

import (
	"reflect"
	"strconv"

	"github.com/itchyny/gojq"
)

// walk calls visit for every node of a query.
func walk(v reflect.Value, visit func(node any)) {
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return
		}
		visit(v.Interface())
		walk(v.Elem(), visit)
	case reflect.Struct:
		for i := range v.NumField() {
			walk(v.Field(i), visit)
		}
	case reflect.Slice:
		for i := range v.Len() {
			walk(v.Index(i), visit)
		}
	}
}

// signature names a function as jq does: by name and number of arguments.
func signature(f *gojq.Func) string { return f.Name + "/" + strconv.Itoa(len(f.Args)) }

// updates maps the arithmetic assignments to their operators.
var updates = map[gojq.Operator]gojq.Operator{
	gojq.OpUpdateAdd: gojq.OpAdd, gojq.OpUpdateSub: gojq.OpSub, gojq.OpUpdateMul: gojq.OpMul, gojq.OpUpdateDiv: gojq.OpDiv,
	gojq.OpUpdateMod: gojq.OpMod,
}

// isUpdate reports whether an operator assigns to the path on its left.
func isUpdate(o gojq.Operator) bool {
	_, computes := updates[o]
	return computes || o == gojq.OpAssign || o == gojq.OpModify || o == gojq.OpUpdateAlt
}

func isLiteral(q *gojq.Query) bool {
	if q == nil || q.Term == nil || len(q.Term.SuffixList) > 0 || len(q.FuncDefs) > 0 {
		return false
	}
	switch t := q.Term; t.Type { //nolint:exhaustive // nothing else is written as it is
	case gojq.TermTypeNumber, gojq.TermTypeTrue, gojq.TermTypeFalse, gojq.TermTypeNull:
		return true
	case gojq.TermTypeUnary:
		return isLiteral(&gojq.Query{Term: t.Unary.Term})
	case gojq.TermTypeString:
		return len(t.Str.Queries) == 0
	}
	return false
}

func itself() *gojq.Query {
	return &gojq.Query{Term: &gojq.Term{Type: gojq.TermTypeIdentity}}
}

func variable(name string) *gojq.Query {
	return &gojq.Query{Term: &gojq.Term{Type: gojq.TermTypeFunc, Func: &gojq.Func{Name: name}}}
}

func pipe(left, right *gojq.Query) *gojq.Query {
	return &gojq.Query{Op: gojq.OpPipe, Left: left, Right: right}
}

// bind returns value as $name | body.
func bind(value *gojq.Query, name string, body *gojq.Query) *gojq.Query {
	return &gojq.Query{Op: gojq.OpPipe, Left: value, Patterns: []*gojq.Pattern{{Name: name}}, Right: body}
}

// charge returns a call that charges for an operation on x and y.
func charge(kind cost, x, y *gojq.Query) *gojq.Query {
	if y == nil {
		y = &gojq.Query{Term: &gojq.Term{Type: gojq.TermTypeNull}}
	}
	name := &gojq.Query{Term: &gojq.Term{Type: gojq.TermTypeString, Str: &gojq.String{Str: string(kind)}}}
	return &gojq.Query{Term: &gojq.Term{Type: gojq.TermTypeFunc, Func: &gojq.Func{
		Name: chargeName, Args: []*gojq.Query{name, x, y, variable(meterVariable)},
	}}}
}
