package reading

import (
	"slices"

	"holdfast/event/shape"
	"holdfast/providers/mapping"
)

// Reads lists the paths of the body that the definition reads of an event of a type.
func (p *Reader) Reads(eventType string) []shape.Read {
	return slices.Concat(mapping.ReadsOf(p.typeOf), mapping.ReadsOf(p.sourceOf), p.mapping.Reads(eventType))
}
