package jq

import "github.com/itchyny/gojq"

// LiteralPrefix returns the literal beginning of every text that a source returns: "order:" of "order:" + .body.id and of
// "order:\(.body.id)". It is "" if the source begins otherwise, or isn't jq.
func LiteralPrefix(source string) string {
	query, err := parse(source)
	if err != nil {
		return ""
	}
	return prefixOf(query)
}

func prefixOf(q *gojq.Query) string {
	switch {
	case q == nil || len(q.FuncDefs) > 0 || len(q.Patterns) > 0:
		return ""
	case q.Op == gojq.OpAdd:
		return prefixOf(q.Left)
	case q.Term == nil || len(q.Term.SuffixList) > 0:
		return ""
	case q.Term.Type == gojq.TermTypeQuery:
		return prefixOf(q.Term.Query)
	case q.Term.Type != gojq.TermTypeString:
		return ""
	case len(q.Term.Str.Queries) > 0:
		return prefixOf(q.Term.Str.Queries[0]) // an interpolation is a list of its parts and the literals between them
	}
	return q.Term.Str.Str
}
