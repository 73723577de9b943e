package mapping

import (
	"slices"
	"strings"

	"holdfast/event/shape"
	"holdfast/providers/definition"
	"holdfast/providers/jq"
)

// Reads lists the paths of the body that the rules for a type read: for its key, its time and its entities. Paths that aren't
// constant are listed as far as they are.
func (m *Set) Reads(eventType string) (all []shape.Read) {
	r := m.For(eventType)
	if r.key != nil {
		for _, part := range r.key.parts {
			all = append(all, ReadsOf(part.expr)...)
		}
		all = append(all, ReadsOf(r.key.fingerprint.delivery)...)
	}
	for _, t := range r.times {
		all = append(all, ReadsOf(t.expr)...)
	}
	for i := range r.entities {
		e := &r.entities[i]
		if !r.ignore && (len(e.types) == 0 || definition.AnyMatch(e.types, eventType)) {
			all = append(all, e.reads()...)
		}
	}
	return all
}

func (e *entityRule) reads() (all []shape.Read) {
	array := arrayOf(e.each)
	for _, x := range append(slices.Clone(e.names), e.when, e.each, e.kindFrom, e.state, e.version) {
		all = append(all, ReadsOf(x)...)
		if x == nil || array == nil {
			continue
		}
		for _, path := range x.Dependencies.Items {
			all = append(all, shape.Read{Path: shape.ItemPath(array, path), Rule: x.Field})
		}
	}
	return all
}

// arrayOf returns the path of the array whose items an expression gives; nil for any other expression.
func arrayOf(each *jq.Expression) []string {
	if each == nil || len(each.Dependencies.Fields) != 1 {
		return nil
	}
	path := each.Dependencies.Fields[0]
	if strings.ReplaceAll(each.Source, "?", "") != ".body."+strings.Join(path, ".")+"[]" {
		return nil
	}
	return path
}

// ReadsOf lists the paths of the body that an expression reads. One that reads all of it depends on no field.
func ReadsOf(x *jq.Expression) (all []shape.Read) {
	if x == nil {
		return nil
	}
	for _, path := range x.Dependencies.Fields {
		if len(path) > 0 {
			all = append(all, shape.Read{Path: shape.Path(path), Rule: x.Field, HasOther: len(x.Paths) > 1})
		}
	}
	return all
}
