package mapping

import (
	"slices"

	"holdfast/providers/auth"
	"holdfast/providers/definition"
	"holdfast/providers/jq"
)

// Compiler compiles a definition's rules for events. It tracks what their expressions can read.
type Compiler struct {
	definition.Problems
	ReceiptFields ReceiptFields
	Coverage      auth.Coverage
	PathParams    []string
	// Item is the path from the body to the event within it, "" if that is the body.
	Item string
	// HasParts is set if the events of a request may differ only in a part of a list.
	HasParts bool
	// HasSource is set if the definition distinguishes the provider's senders.
	HasSource bool
	// Fetches is set if the definition fetches states, and DeletesGone if it deletes what is gone.
	Fetches, DeletesGone bool
}

// Expression compiles an expression of an event and checks that the values it names are kept.
func (c *Compiler) Expression(field string, source definition.JQ) *jq.Expression {
	x := c.NewExpression(field, source)
	c.checkReads(field, x)
	return x
}

// Name is Expression for a field that names the event: an expression that would turn null into text fails.
func (c *Compiler) Name(field string, source definition.JQ) *jq.Expression {
	x := c.compiled(field, source, jq.CompileName)
	c.checkReads(field, x)
	return x
}

// NewExpression compiles the source, or reports why it cannot be used; nil for "".
func (c *Compiler) NewExpression(field string, source definition.JQ) *jq.Expression {
	return c.compiled(field, source, jq.Compile)
}

func (c *Compiler) compiled(
	field string, source definition.JQ, compile func(field, source string) (*jq.Expression, error),
) *jq.Expression {
	x, err := compile(field, string(source))
	if err != nil {
		c.Add(field, "%s", err.Error())
	}
	return x
}

// checkReads refuses an expression that names a value that isn't kept, and so would never exist.
func (c *Compiler) checkReads(field string, x *jq.Expression) {
	if x == nil {
		return
	}
	for _, name := range x.Dependencies.Headers {
		if !slices.Contains(c.ReceiptFields.headers, name) {
			c.Add(field, "reads the header %q, which is not among keep.headers (names are lower case)", name)
		}
	}
	for _, name := range x.Dependencies.Query {
		if !slices.Contains(c.ReceiptFields.query, name) {
			c.Add(field, "reads the query parameter %q, which is not among keep.query", name)
		}
	}
	for _, name := range x.Dependencies.Path {
		if !slices.Contains(c.PathParams, name) || slices.Contains(c.ReceiptFields.hiddenPath, name) {
			c.Add(field, "reads the path variable %q, which no path has or which is secret", name)
		}
	}
}

// checkKeyReads refuses a key expression that names a value that no scheme covers.
func (c *Compiler) checkKeyReads(field string, x *jq.Expression) {
	const advice = "which no signature covers: take the key from signed material, or say why not under `unsigned`"
	if x == nil {
		return
	}
	for _, what := range c.Coverage.Uncovered(x.Dependencies.Headers, x.Dependencies.Query, x.Dependencies.Path) {
		c.Add(field, "reads %s, %s", what, advice)
	}
	for _, what := range c.Coverage.UncoveredBody(c.Item, x.Dependencies.BodyPaths()) {
		c.Add(field, "reads %s, %s", what, advice)
	}
}
