package providers

import (
	"slices"

	"github.com/itchyny/gojq"
)

// reads is what an expression takes from its input, as far as it can be seen without running it. Whatever cannot be
// seen counts as reading the body; it cannot reach more than what the receipt keeps in any case.
type reads struct {
	headers, query, path []string
	// whole: headers, query or path are read without a name.
	whole bool
	body  bool
	// fields are the paths within the body that are read, as far as they are fixed.
	fields [][]string
}

// onlyBody tells whether nothing but the body is read.
func (r *reads) onlyBody() bool { return len(r.headers)+len(r.query)+len(r.path) == 0 && !r.whole }

func readsOf(q *gojq.Query) (r reads) {
	r.inQuery(q)
	for _, names := range []*[]string{&r.headers, &r.query, &r.path} {
		slices.Sort(*names)
		*names = slices.Compact(*names)
	}
	return r
}

// inQuery follows the parts of a query that see the input itself. What stands right of a pipe sees something else, and
// was counted where the pipe began.
func (r *reads) inQuery(q *gojq.Query) {
	if q == nil {
		return
	}
	if len(q.FuncDefs) > 0 {
		r.body = true
	}
	if q.Term != nil {
		r.inTerm(q.Term)
	}
	if q.Op == gojq.OpPipe && len(q.Patterns) == 0 && isIdentity(q.Left) {
		r.inQuery(q.Right)
		return
	}
	r.inQuery(q.Left)
	if q.Op != gojq.OpPipe || len(q.Patterns) > 0 || r.hidden(q.Left) {
		r.inQuery(q.Right)
	}
}

// hidden tells whether a pipe's left side leaves the input as it is for the right side, as select does.
func (r *reads) hidden(q *gojq.Query) bool {
	return q != nil && q.Term != nil && q.Term.Type == gojq.TermTypeFunc && len(q.Term.SuffixList) == 0
}

func isIdentity(q *gojq.Query) bool {
	return q != nil && q.Term != nil && q.Term.Type == gojq.TermTypeIdentity && len(q.Term.SuffixList) == 0
}

func (r *reads) inTerm(t *gojq.Term) {
	for _, s := range t.SuffixList {
		if s.Index != nil {
			r.inQuery(s.Index.Start)
			r.inQuery(s.Index.End)
			r.inString(s.Index.Str)
		}
	}
	switch t.Type {
	case gojq.TermTypeIndex:
		r.index(t.Index, t.SuffixList)
	case gojq.TermTypeIdentity, gojq.TermTypeRecurse:
		if len(t.SuffixList) > 0 && t.SuffixList[0].Index != nil {
			r.index(t.SuffixList[0].Index, t.SuffixList[1:])
			return
		}
		r.body = true
	case gojq.TermTypeFunc:
		for _, a := range t.Func.Args {
			r.inQuery(a)
		}
	default:
		r.inParts(t)
	}
}

func (r *reads) inParts(t *gojq.Term) {
	r.inQuery(t.Query)
	r.inString(t.Str)
	if t.Array != nil {
		r.inQuery(t.Array.Query)
	}
	if t.Object != nil {
		for _, kv := range t.Object.KeyVals {
			r.inQuery(kv.KeyQuery)
			r.inString(kv.KeyString)
			r.inQuery(kv.Val)
			r.body = r.body || kv.Val == nil
		}
	}
	if t.Unary != nil {
		r.inTerm(t.Unary.Term)
	}
	if t.If != nil {
		r.inQuery(t.If.Cond)
		r.inQuery(t.If.Then)
		r.inQuery(t.If.Else)
		for _, e := range t.If.Elif {
			r.inQuery(e.Cond)
			r.inQuery(e.Then)
		}
	}
	r.inBlocks(t)
}

func (r *reads) inBlocks(t *gojq.Term) {
	if t.Try != nil {
		r.inQuery(t.Try.Body)
	}
	if t.Reduce != nil {
		r.inQuery(t.Reduce.Query)
		r.inQuery(t.Reduce.Start)
	}
	if t.Foreach != nil {
		r.inQuery(t.Foreach.Query)
		r.inQuery(t.Foreach.Start)
	}
	if t.Label != nil {
		r.inQuery(t.Label.Body)
	}
}

func (r *reads) inString(s *gojq.String) {
	if s == nil {
		return
	}
	for _, q := range s.Queries {
		r.inQuery(q)
	}
}

// index notes .headers["name"] and the like.
func (r *reads) index(first *gojq.Index, rest []*gojq.Suffix) {
	part, ok := constant(first)
	if !ok {
		r.body = true
		return
	}
	name, named := "", false
	if len(rest) > 0 && rest[0].Index != nil {
		name, named = constant(rest[0].Index)
	}
	if part == "body" {
		r.body = true
		r.fields = append(r.fields, fixedPath(rest))
		return
	}
	names := map[string]*[]string{"headers": &r.headers, "query": &r.query, "path": &r.path}[part]
	switch {
	case names == nil:
	case named:
		*names = append(*names, name)
	default:
		r.whole = true
	}
}

// fixedPath is the path of names that the suffixes begin with.
func fixedPath(suffixes []*gojq.Suffix) []string {
	path := []string{}
	for _, s := range suffixes {
		if s.Optional && s.Index == nil {
			continue
		}
		name, ok := constant(s.Index)
		if !ok {
			break
		}
		path = append(path, name)
	}
	return path
}

func constant(i *gojq.Index) (string, bool) {
	switch {
	case i == nil:
		return "", false
	case i.Name != "":
		return i.Name, true
	case i.Str != nil:
		return literal(i.Str)
	case !i.IsSlice && i.Start != nil && i.Start.Term != nil && len(i.Start.Term.SuffixList) == 0:
		return literal(i.Start.Term.Str)
	}
	return "", false
}

func literal(s *gojq.String) (string, bool) {
	if s == nil || len(s.Queries) > 0 {
		return "", false
	}
	return s.Str, true
}
