package jq

import (
	"errors"
	"reflect"

	"github.com/itchyny/gojq"
)

// givenName is the function that passes everything but null, and a list with null in it.
const givenName = "_given"

// errNull means that null would have become part of a text.
var errNull = errors.New("null became part of a text")

// CompileName compiles the source of a field that names something, such as a workflow ID. In jq "order:" + null is "order:",
// and all events without an order would have the same name. Here it is an error if null becomes part of a text; an author who
// wants that writes so: .order // "none".
func CompileName(field, source string) (*Expression, error) {
	return compile(field, source, needGiven)
}

// needGiven rewrites a query so that it fails if null would become part of a text.
func needGiven(q *gojq.Query) {
	rewritten := map[*gojq.Term]bool{}
	walk(reflect.ValueOf(q), func(node any) {
		switch node := node.(type) {
		case *gojq.Query:
			if node.Op == gojq.OpUpdateAdd {
				*node = *sumInPlace(node)
			}
			if node.Op == gojq.OpAdd {
				node.Left, node.Right = given(node.Left), given(node.Right)
			}
		case *gojq.String:
			for i, part := range node.Queries {
				if part.Term == nil || part.Term.Str == nil { // the parts between are literal text
					node.Queries[i] = inParentheses(given(part))
				}
			}
		case *gojq.Term:
			if makesText(node) && !rewritten[node] {
				call := &gojq.Term{Type: node.Type, Func: node.Func, Format: node.Format}
				rewritten[call] = true
				*node = gojq.Term{
					Type: gojq.TermTypeQuery, Query: pipe(callGiven(), &gojq.Query{Term: call}), SuffixList: node.SuffixList,
				}
			}
		}
	})
}

// joinsText are the functions that turn null into text.
var joinsText = map[string]bool{"add/0": true, "join/1": true, "tostring/0": true, "tojson/0": true}

// makesText reports whether a term turns its input into text: one of these functions, or a format such as @text that no text
// follows.
func makesText(t *gojq.Term) bool {
	return t.Type == gojq.TermTypeFunc && joinsText[signature(t.Func)] || t.Type == gojq.TermTypeFormat && t.Str == nil
}

// sumInPlace expands a += b into its meaning in jq, with a sum that can be rewritten.
func sumInPlace(q *gojq.Query) *gojq.Query {
	meant, err := gojq.Parse("(" + q.Right.String() + ") as $_added | (" + q.Left.String() + ") |= (. + $_added)")
	if err != nil {
		panic(err) // both sides were parsed before
	}
	return meant
}

func given(q *gojq.Query) *gojq.Query {
	if q == nil || isLiteral(q) {
		return q
	}
	return pipe(q, callGiven())
}

func callGiven() *gojq.Query {
	return &gojq.Query{Term: &gojq.Term{Type: gojq.TermTypeFunc, Func: &gojq.Func{Name: givenName}}}
}

func inParentheses(q *gojq.Query) *gojq.Query {
	return &gojq.Query{Term: &gojq.Term{Type: gojq.TermTypeQuery, Query: q}}
}

// givenFunction is jq's _given: it returns its input.
func givenFunction(input any, _ []any) any {
	if input == nil {
		return errNull
	}
	if list, ok := input.([]any); ok {
		for _, one := range list {
			if one == nil {
				return errNull
			}
		}
	}
	return input
}
