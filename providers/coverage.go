package providers

import (
	"fmt"
	"maps"
	"slices"
)

// coverage is what a scheme proves beside the body. A key comes from nothing else.
type coverage struct {
	// all: the sender as such is authentic, and so is everything that it sends.
	all bool
	// url: path and query.
	url     bool
	headers []string
}

// anyCoverage is what at least one of the schemes covers: what a key expression may name at all.
func anyCoverage(schemes []scheme) coverage {
	var c coverage
	for _, s := range schemes {
		one := s.covers()
		c.all, c.url, c.headers = c.all || one.all, c.url || one.url, append(c.headers, one.headers...)
	}
	return c
}

// covered is the part of the input that the scheme which has passed covers. Another scheme's headers are not in it:
// with one scheme's signature anybody could add them.
func (p *Provider) covered(in input, passed scheme) input {
	var c coverage
	if passed != nil {
		c = passed.covers()
	}
	if c.all {
		return in
	}
	headers := map[string]any{}
	kept, _ := in.value["headers"].(map[string]any)
	for _, name := range c.headers {
		if v, ok := kept[name]; ok {
			headers[name] = v
		}
	}
	value := maps.Clone(in.value)
	value["headers"] = headers
	if !c.url {
		value["query"], value["path"] = map[string]any{}, map[string]any{}
	}
	return input{value: value, root: in.root}
}

// checkKeyReads refuses a key expression that names what no scheme covers.
func (p *problems) checkKeyReads(field string, x *expression, c coverage) {
	const advice = "which no signature covers: take the key from signed material, or say why not under `unsigned`"
	if x == nil {
		return
	}
	for _, what := range c.uncovered(x.reads) {
		p.add(field, "reads %s, %s", what, advice)
	}
}

// uncovered names what of the reads is not covered.
func (c coverage) uncovered(r reads) (what []string) {
	if c.all {
		return nil
	}
	for _, name := range sortedNames(r.headers) {
		if !slices.Contains(c.headers, name) {
			what = append(what, fmt.Sprintf("the header %q", name))
		}
	}
	if c.url {
		return what
	}
	for _, name := range append(sortedNames(r.query), sortedNames(r.path)...) {
		what = append(what, fmt.Sprintf("%q of query or path", name))
	}
	return what
}
