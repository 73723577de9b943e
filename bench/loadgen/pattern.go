package loadgen

import "bytes"

// The markers for the values that differ between events. No sample contains them.
const (
	markID     = "7e57a0c4b1d90f3e602958147"
	markEntity = "e41b7c90d5"
)

// pattern is a text with holes for the ID and the entity of an event.
type pattern []piece

type piece struct {
	literal []byte // nil means a hole
	entity  bool   // the hole is for the entity rather than the ID
}

// newPattern replaces the markers with holes.
func newPattern(text []byte) (p pattern) {
	for len(text) > 0 {
		id, entity := bytes.Index(text, []byte(markID)), bytes.Index(text, []byte(markEntity))
		at, mark := id, markID
		if id < 0 || (entity >= 0 && entity < id) {
			at, mark = entity, markEntity
		}
		if at < 0 {
			return append(p, piece{literal: bytes.Clone(text)})
		}
		if at > 0 {
			p = append(p, piece{literal: bytes.Clone(text[:at])})
		}
		p = append(p, piece{entity: mark == markEntity})
		text = text[at+len(mark):]
	}
	return p
}

func (p pattern) append(to []byte, id, entity string) []byte {
	for i := range p {
		switch {
		case p[i].literal != nil:
			to = append(to, p[i].literal...)
		case p[i].entity:
			to = append(to, entity...)
		default:
			to = append(to, id...)
		}
	}
	return to
}

func (p pattern) fill(id, entity string) string { return string(p.append(nil, id, entity)) }
