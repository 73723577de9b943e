package reading

import "holdfast/providers/definition"

// bodiless is what happens to an authentic request that no definition can make an event of: without a body, or with JSON that
// isn't an object. As a dead letter it would be acknowledged, and its sender would never know.
type bodiless struct{ action, message string }

const (
	refuseBody = "refuse"
	ignoreBody = "ignore"
	keepBody   = "keep"
)

// newBodiless returns the rules by the code with which decoding fails.
func (c compiler) newBodiless(d *definition.Definition) map[string]bodiless {
	return map[string]bodiless{
		"empty_body": {c.OneOf("empty", d.Empty, refuseBody, ignoreBody, keepBody), "the body is empty"},
		"not_object": {c.OneOf("not_object", d.NotObject, refuseBody, ignoreBody, keepBody), "the body is JSON, but not an object"},
	}
}
