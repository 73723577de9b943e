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

// within is the part of the input that is covered. Another scheme's headers are not in it: with one scheme's signature anybody
// could add them.
func within(c coverage, in input) input {
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
	for _, what := range c.uncovered(x.reads.headers, x.reads.query, x.reads.path) {
		p.add(field, "reads %s, %s", what, advice)
	}
}

// uncovered names what is not covered of the headers, query parameters and path variables.
func (c coverage) uncovered(headers, query, path []string) (what []string) {
	if c.all {
		return nil
	}
	for _, name := range headers {
		if !slices.Contains(c.headers, name) {
			what = append(what, fmt.Sprintf("the header %q", name))
		}
	}
	if c.url {
		return what
	}
	for _, name := range append(slices.Clone(query), path...) {
		what = append(what, fmt.Sprintf("%q of query or path", name))
	}
	return what
}
