package shape

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"time"
)

// enough is how many values, and events, must agree before another one is a change. It is also how many objects in a row must
// lack a field before it counts as gone.
const enough = 20

// The limits of a shape. What exceeds them is left out.
const (
	maxNodes   = 500
	maxDepth   = 16
	maxItems   = 20  // of an array in one event
	maxNames   = 100 // of an object, before its names count as data
	maxChanges = 50
	// maxEvents is how many events count in full; then all counts are halved.
	maxEvents = 2000
)

// Shape is what the events of a type have in common. Its JSON is stored.
type Shape struct {
	Events int64 `json:"events"`
	// Salt is part of the digests of values, so that those of two shapes can't be compared.
	Salt string `json:"salt"`
	Root *node  `json:"root"`
	// Nodes counts them. IsFull is set if some were left out because of maxNodes.
	Nodes  int  `json:"nodes"`
	IsFull bool `json:"is_full,omitempty"`
	// Changes are the latest ones, oldest first.
	Changes []FieldChange `json:"changes,omitempty"`
}

// New returns a shape of no events.
func New(salt string) *Shape { return &Shape{Salt: salt, Root: newNode(0), Nodes: 1} }

// Add adds the body of an event, decoded with UseNumber, and returns how it differs from those before it. Events should be added
// in the order in which they were received.
func (s *Shape) Add(eventID string, received time.Time, body any) []FieldChange {
	o := observation{shape: s, eventID: eventID, received: received}
	o.value(s.Root, "", body, 0)
	slices.SortFunc(o.found, func(a, b FieldChange) int { return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Kind, b.Kind)) })
	if s.Events++; s.Events >= maxEvents {
		s.Events /= 2
		s.Root.halve()
	}
	for _, c := range o.found {
		s.forget(c.Path, c.Kind)
		s.Changes = append(s.Changes, c)
	}
	s.Changes = s.Changes[max(0, len(s.Changes)-maxChanges):]
	return o.found
}

func (s *Shape) forget(path string, kind ChangeKind) {
	s.Changes = slices.DeleteFunc(s.Changes, func(c FieldChange) bool { return c.Path == path && c.Kind == kind })
}

// Relate says which rules of the definition, as it is now, need the fields that have changed, and removes old changes.
func (s *Shape) Relate(reads []Read, now time.Time) {
	s.Changes = slices.DeleteFunc(s.Changes, func(c FieldChange) bool { return now.Sub(c.Since) > keepChanges })
	s.Changes = Related(s.Changes, reads)
}

// Broken returns the changes because of which rules may find nothing, or something else.
func (s *Shape) Broken() (all []FieldChange) {
	for _, c := range s.Changes {
		if c.Breaks() {
			all = append(all, c)
		}
	}
	return all
}

// Open returns those of Broken that are younger than OpenFor.
func (s *Shape) Open(now time.Time) []FieldChange {
	return slices.DeleteFunc(s.Broken(), func(c FieldChange) bool { return now.Sub(c.Since) > OpenFor })
}

// Field is a field of the events of a type.
type Field struct {
	// Path has the names from the body on; [] stands for the items of an array, and * for names that are data.
	Path  string `json:"path"`
	Kinds []Kind `json:"types"`
	// Present is the share of the objects around the field that have it, of those that were read.
	Present float64 `json:"present" jsonschema:"minimum=0,maximum=1"`
	// Values is how many different texts a field has that has few; absent for other fields. The texts themselves aren't shown.
	Values int `json:"distinct_values,omitempty"`
	// ReadBy are the rules of the definition that read the field.
	ReadBy []string `json:"read_by,omitempty"`
}

// Percent is the share for people. Only what is always there has 100%.
func (f Field) Percent() string {
	n := int(f.Present * 100)
	if n == 0 && f.Present > 0 {
		return "<1%"
	}
	return strconv.Itoa(n) + "%"
}

// Fields lists the fields by path, with the rules that read them.
func (s *Shape) Fields(reads []Read) []Field {
	all := s.Root.fields("", reads, nil)
	slices.SortFunc(all, func(a, b Field) int { return cmp.Compare(a.Path, b.Path) })
	return all
}

func (n *node) fields(path string, reads []Read, all []Field) []Field {
	for _, name := range slices.Sorted(maps.Keys(n.Fields)) {
		f, at := n.Fields[name], join(path, name)
		found := Field{Path: at, Kinds: f.known(), Present: f.present(), ReadBy: readers(reads, at)}
		if n.IsMap {
			found.Present = 1
		}
		if f.isEnum() {
			found.Values = len(f.Values)
		}
		all = f.fields(at, reads, append(all, found))
	}
	if n.Items != nil {
		all = n.Items.fields(path+items, reads, all)
	}
	return all
}
