package infer

import (
	"regexp"
	"strings"
)

// Event is what a body seems to be. Type, ID and Time are jq, "" if nothing was found.
type Event struct {
	// Items is the dotted path to the events of a batch, "." if the body is one; "" if the body is an event.
	Items string
	Type  string
	ID    string
	// Time has a value in Unit, which is one of rfc3339, unix_s, unix_ms and rfc2822.
	Time, Unit string
	// Zoneless is set if the time has no zone, and UTC is assumed.
	Zoneless bool
}

// Find examines a decoded JSON body.
func Find(body any) Event {
	e := Event{}
	event := body
	if items, first := batchOf(body); first != nil {
		e.Items, event = items, first
	}
	fields := fieldsOf(event)
	kind := typeOf(fields)
	if kind != nil {
		e.Type = kind.expression()
	}
	if id := idOf(fields, kind); id != nil {
		e.ID = id.expression()
	}
	if at, form := timeOf(fields, kind); at != nil {
		e.Time, e.Unit, e.Zoneless = form.expression(at), form.unit, form.isZoneless
	}
	return e
}

// field is a value that isn't an object, with the names that lead to it.
type field struct {
	names []string
	value any
	// then is the second part of a type in two parts, such as object and action; its parent is the same.
	then *field
}

const maxDepth = 5

// fieldsOf lists the fields of an object, those of lists excepted.
func fieldsOf(v any) (all []field) {
	var walk func(names []string, v any)
	walk = func(names []string, v any) {
		object, ok := v.(map[string]any)
		if !ok {
			if len(names) > 0 {
				all = append(all, field{names: names, value: v})
			}
			return
		}
		if len(names) >= maxDepth {
			return
		}
		for name, below := range object {
			walk(append(append([]string{}, names...), name), below)
		}
	}
	walk(nil, v)
	return all
}

func (f *field) name() string { return f.names[len(f.names)-1] }

// words is the name in lower case without what separates words.
func (f *field) words() string { return plain(f.name()) }

var separators = strings.NewReplacer("_", "", "-", "", ".", "")

func plain(name string) string { return strings.ToLower(separators.Replace(name)) }

func (f *field) parent() []string { return f.names[:len(f.names)-1] }

func (f *field) text() string {
	text, _ := f.value.(string)
	return text
}

var simpleName = regexp.MustCompile(`^[A-Za-z_]\w*$`)

func path(names []string) string {
	var b strings.Builder
	b.WriteString(".body")
	for _, name := range names {
		if simpleName.MatchString(name) {
			b.WriteString("." + name)
		} else {
			b.WriteString(`["` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(name) + `"]`)
		}
	}
	return b.String()
}

func (f *field) expression() string {
	if f.then == nil {
		return path(f.names)
	}
	return "[" + path(f.names) + ", " + path(f.then.names) + `] | map(strings) | join(".")`
}

func samePlace(a, b []string) bool { return strings.Join(a, "\x00") == strings.Join(b, "\x00") }
