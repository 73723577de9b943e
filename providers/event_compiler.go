package providers

import (
	"slices"
)

// eventCompiler compiles what a definition says of events. It knows what their expressions can see.
type eventCompiler struct {
	problems
	kept       kept
	coverage   coverage
	pathParams []string
	// hasSource: the definition tells the provider's senders apart.
	hasSource bool
}

// expression compiles an expression of an event and checks that what it names is kept.
func (c *eventCompiler) expression(field string, source jq) *expression {
	x := c.newExpression(field, source)
	c.checkReads(field, x)
	return x
}

// newExpression compiles the source, or reports why it cannot be used; nil for "".
func (c *eventCompiler) newExpression(field string, source jq) *expression {
	x, err := compileExpression(field, string(source))
	if err != nil {
		c.add(field, "%s", err.Error())
	}
	return x
}

// checkReads refuses an expression that names something which is not kept, and so would never be there.
func (c *eventCompiler) checkReads(field string, x *expression) {
	if x == nil {
		return
	}
	for _, name := range x.reads.headers {
		if !slices.Contains(c.kept.headers, name) {
			c.add(field, "reads the header %q, which is not among keep.headers (names are lower case)", name)
		}
	}
	for _, name := range x.reads.query {
		if !slices.Contains(c.kept.query, name) {
			c.add(field, "reads the query parameter %q, which is not among keep.query", name)
		}
	}
	for _, name := range x.reads.path {
		if !slices.Contains(c.pathParams, name) || slices.Contains(c.kept.hiddenPath, name) {
			c.add(field, "reads the path variable %q, which no path has or which is secret", name)
		}
	}
}

// checkKeyReads refuses a key expression that names what no scheme covers.
func (c *eventCompiler) checkKeyReads(field string, x *expression) {
	const advice = "which no signature covers: take the key from signed material, or say why not under `unsigned`"
	if x == nil {
		return
	}
	for _, what := range c.coverage.uncovered(x.reads.headers, x.reads.query, x.reads.path) {
		c.add(field, "reads %s, %s", what, advice)
	}
}
