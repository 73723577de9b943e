package shape

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"
)

const (
	// items follows the path of an array, anyName stands for the names of an object whose names are data.
	items   = "[]"
	anyName = "*"

	// A field with more than maxValues different texts has no fixed set of values, nor has one with a text that is longer than
	// maxValue bytes or has a space. In a fixed set, each value was seen minRepeats times on average.
	maxValues  = 20
	maxValue   = 40
	minRepeats = 4
)

// fieldName matches what looks like the name of a field. Other names may be data, such as an address or an ID.
var fieldName = regexp.MustCompile(`^[A-Za-z_$@][A-Za-z_$:.-]*([0-9]{1,3}[A-Za-z_$:.-]*)?$`)

const maxName = 64

// nameOf returns the name under which a field is kept.
func nameOf(name string) string {
	if len(name) > maxName || !fieldName.MatchString(name) {
		return anyName
	}
	return name
}

// join adds a name to a path.
func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// isWithin reports whether a path is another one, or below it.
func isWithin(path, outer string) bool {
	below, ok := strings.CutPrefix(path, outer)
	return ok && (below == "" || below[0] == '.' || below[0] == '[')
}

// Path returns the path of names.
func Path(names []string) string { return strings.Join(names, ".") }

// ItemPath returns the path of names within the items of the array at a path.
func ItemPath(array, names []string) string {
	return strings.Join(append([]string{Path(array) + items}, names...), ".")
}

// observation adds an event to a shape.
type observation struct {
	shape    *Shape
	eventID  string
	received time.Time
	found    []FieldChange
}

func (o *observation) note(path string, kind ChangeKind, from []Kind, to Kind) {
	isFound := slices.ContainsFunc(o.found, func(c FieldChange) bool { return c.Path == path && c.Kind == kind })
	if o.shape.Events < enough || isFound {
		return
	}
	o.found = append(o.found, FieldChange{Path: path, Kind: kind, From: from, To: to, Since: o.received, EventID: o.eventID})
}

func (o *observation) value(n *node, path string, v any, depth int) {
	kind, known := kindOf(v), n.known()
	if !slices.Contains(known, kind) && (kind != Integer || !slices.Contains(known, Number)) && n.count() >= enough {
		o.note(path, Retyped, known, kind)
	}
	n.Kinds[kind]++
	if depth == maxDepth {
		return
	}
	switch v := v.(type) {
	case map[string]any:
		o.object(n, path, v, depth)
	case []any:
		if n.Items == nil && len(v) > 0 {
			n.Items = newNode(0)
			o.shape.Nodes++
		}
		for _, item := range v[:min(len(v), maxItems)] {
			o.value(n.Items, path+items, item, depth+1)
		}
	case string:
		o.text(n, path, v)
	}
}

func (o *observation) object(n *node, path string, object map[string]any, depth int) {
	o.checkNames(n, path, object)
	seen := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(object)) {
		key := nameOf(name)
		if n.IsMap {
			key = anyName
		}
		if f := o.field(n, join(path, key), key); f != nil {
			f.Gone = 0
			seen[key] = true
			o.value(f, join(path, key), object[name], depth+1)
		}
	}
	for name, f := range n.Fields {
		if !seen[name] && name != anyName {
			o.missing(f, join(path, name))
		}
	}
}

// checkNames forgets the names of an object that has too many, or of which at least half look like IDs or addresses: then the
// others are data, too, such as an ID that happens to have no digit.
func (o *observation) checkNames(n *node, path string, object map[string]any) {
	more, ids := 0, 0
	for name := range object {
		key := nameOf(name)
		if n.Fields[key] == nil {
			more++
		}
		if key == anyName && strings.ContainsAny(name, "0123456789@") {
			ids++
		}
	}
	if n.IsMap || len(n.Fields)+more <= maxNames && (ids == 0 || 2*ids < len(object)) {
		return
	}
	for name := range n.Fields {
		gone := func(c FieldChange) bool { return isWithin(c.Path, join(path, name)) }
		o.shape.Changes, o.found = slices.DeleteFunc(o.shape.Changes, gone), slices.DeleteFunc(o.found, gone)
	}
	o.shape.Nodes -= n.size() - 1
	n.Fields, n.IsMap = nil, true
	if n.Items != nil {
		o.shape.Nodes += n.Items.size()
	}
}

// field returns the field of an object, which it may create; nil if there are too many.
func (o *observation) field(n *node, path, name string) *node {
	if f := n.Fields[name]; f != nil {
		if f.Gone >= enough {
			o.shape.forget(path, MissingField)
		}
		return f
	}
	if o.shape.Nodes >= maxNodes {
		o.shape.IsFull = true
		return nil
	}
	before := n.Kinds[Object] - 1
	if before >= enough && name != anyName {
		o.note(path, NewField, nil, "")
	}
	f := newNode(max(before, 0))
	if n.Fields == nil {
		n.Fields = map[string]*node{}
	}
	n.Fields[name] = f
	o.shape.Nodes++
	return f
}

func (o *observation) missing(f *node, path string) {
	count := f.count()
	if f.Missing == 0 && count >= enough {
		o.note(path, SometimesMissing, nil, "")
	}
	f.Missing++
	f.Gone++
	if f.Gone == enough && count >= enough && count >= f.Missing-f.Gone {
		o.note(path, MissingField, nil, "")
	}
}

func (o *observation) text(n *node, path, text string) {
	switch {
	case n.IsFree:
	case len(text) > maxValue || strings.ContainsAny(text, " \t\r\n"):
		n.free()
	default:
		wasEnum := n.Kinds[String] > enough && n.isEnum()
		if n.addValue(o.digest(text)) && wasEnum && !n.IsFree {
			o.note(path, NewValue, nil, "")
		}
	}
}

// digest is too short to tell the text, and long enough to tell a new one.
func (o *observation) digest(text string) string {
	sum := sha256.Sum256([]byte(o.shape.Salt + text))
	return hex.EncodeToString(sum[:4])
}
