package jq

import (
	"slices"

	"github.com/itchyny/gojq"
)

// Dependencies lists what an expression reads of its input, as far as static analysis shows. Anything unclear counts as reading
// the body; an expression can't read more than what the receipt keeps in any case.
type Dependencies struct {
	Headers, Query, Path []string
	// whole means that headers, query or path are read without a name.
	whole bool
	Body  bool
	// Fields are the paths within the body that are read, as far as they are constant.
	Fields [][]string
	// Items are the paths within $item that are read, as far as they are constant.
	Items [][]string
}

// OnlyBody reports whether only the body is read.
func (r *Dependencies) OnlyBody() bool {
	return len(r.Headers)+len(r.Query)+len(r.Path) == 0 && !r.whole
}

// BodyPaths returns the paths within the body that are read; unclear reads count as all of it, the empty path.
func (r *Dependencies) BodyPaths() [][]string {
	if r.Body && len(r.Fields) == 0 {
		return [][]string{{}}
	}
	return r.Fields
}

func dependenciesOf(q *gojq.Query) (r Dependencies) {
	r.inQuery(q)
	for _, names := range []*[]string{&r.Headers, &r.Query, &r.Path} {
		slices.Sort(*names)
		*names = slices.Compact(*names)
	}
	return r
}

// inQuery follows the parts of a query that see the input itself. The right side of a pipe sees something else, and was counted
// where the pipe began.
func (r *Dependencies) inQuery(q *gojq.Query) {
	if q == nil {
		return
	}
	if len(q.FuncDefs) > 0 {
		r.Body = true
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

// hidden reports whether a pipe's left side passes the input unchanged to the right side, as select does.
func (r *Dependencies) hidden(q *gojq.Query) bool {
	return q != nil && q.Term != nil && q.Term.Type == gojq.TermTypeFunc && len(q.Term.SuffixList) == 0
}

func isIdentity(q *gojq.Query) bool {
	return q != nil && q.Term != nil && q.Term.Type == gojq.TermTypeIdentity && len(q.Term.SuffixList) == 0
}

func (r *Dependencies) inTerm(t *gojq.Term) {
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
		r.Body = true
	case gojq.TermTypeFunc:
		if t.Func.Name == "$item" {
			r.Items = append(r.Items, fixedPath(t.SuffixList))
		}
		for _, a := range t.Func.Args {
			r.inQuery(a)
		}
	default:
		r.inParts(t)
	}
}

func (r *Dependencies) inParts(t *gojq.Term) {
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
			r.Body = r.Body || kv.Val == nil
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

func (r *Dependencies) inBlocks(t *gojq.Term) {
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

func (r *Dependencies) inString(s *gojq.String) {
	if s == nil {
		return
	}
	for _, q := range s.Queries {
		r.inQuery(q)
	}
}

// index records .headers["name"] and the like.
func (r *Dependencies) index(first *gojq.Index, rest []*gojq.Suffix) {
	part, ok := constant(first)
	if !ok {
		r.Body = true
		return
	}
	name, named := "", false
	if len(rest) > 0 && rest[0].Index != nil {
		name, named = constant(rest[0].Index)
	}
	if part == "body" {
		r.Body = true
		r.Fields = append(r.Fields, fixedPath(rest))
		return
	}
	names := map[string]*[]string{"headers": &r.Headers, "query": &r.Query, "path": &r.Path}[part]
	switch {
	case names == nil:
	case named:
		*names = append(*names, name)
	default:
		r.whole = true
	}
}

// fixedPath returns the path of names at the beginning of the suffixes.
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
