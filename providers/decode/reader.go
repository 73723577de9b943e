package decode

import (
	"encoding/json"
	"strings"
)

// reader parses JSON. In contrast to encoding/json it reports where a value begins and ends (a batch is cut into slices of the
// request's bytes), detects repeated fields, bounds the depth, and slices the strings out of one copy of the body.
type reader struct {
	data  string
	pos   int
	depth int
	exact bool // keep halves of surrogate pairs distinct
	path  []string
	// watched lists the paths that must not be repeated. It doesn't record which one was: a body may have as many repeated fields
	// as fit.
	watched [][]string
	doubled bool
}

// value reads the next value: all of it, or the wanted part of an object.
func (r *reader) value(w Projection) (any, error) {
	switch c := r.peek(); {
	case c == '{':
		return r.object(w)
	case c == '[':
		return r.array()
	case c == '"':
		return r.text()
	case isNumeric(c):
		return r.number()
	case r.literal("true"):
		return true, nil
	case r.literal("false"):
		return false, nil
	case r.literal("null"):
		return nil, nil
	}
	return nil, errMalformed
}

// end requires that only white space follows.
func (r *reader) end() error {
	if r.peek(); r.pos < len(r.data) {
		return errMalformed
	}
	return nil
}

// peek skips white space and returns the next byte, 0 at the end.
func (r *reader) peek() byte {
	for ; r.pos < len(r.data); r.pos++ {
		switch c := r.data[r.pos]; c {
		case ' ', '\t', '\n', '\r':
		default:
			return c
		}
	}
	return 0
}

// accept moves past the next byte if it is c.
func (r *reader) accept(c byte) bool {
	if r.peek() != c {
		return false
	}
	r.pos++
	return true
}

func (r *reader) literal(word string) bool {
	if !strings.HasPrefix(r.data[r.pos:], word) {
		return false
	}
	r.pos += len(word)
	return true
}

func (r *reader) object(w Projection) (any, error) {
	m := map[string]any{}
	err := r.fields(func(name string) error {
		below, ok := w[name]
		if w != nil && !ok {
			return r.skip()
		}
		r.path = append(r.path, name)
		if _, there := m[name]; there && overlapsAny(r.path, r.watched) {
			r.doubled = true
		}
		v, err := r.value(below)
		r.path = r.path[:len(r.path)-1]
		m[name] = v
		return err
	})
	return m, err
}

// fields calls visit at the value of each field of an object.
func (r *reader) fields(visit func(name string) error) error {
	return r.list('{', '}', func() error {
		if r.peek() != '"' {
			return errMalformed
		}
		name, err := r.text()
		if err != nil || !r.accept(':') {
			return errMalformed
		}
		return visit(name)
	})
}

func (r *reader) array() (any, error) {
	items := []any{}
	err := r.list('[', ']', func() error {
		v, err := r.value(nil)
		items = append(items, v)
		return err
	})
	return items, err
}

// skip validates the next value as strictly as value does, and keeps nothing of it.
func (r *reader) skip() error {
	var err error
	switch c := r.peek(); {
	case c == '{':
		return r.fields(func(string) error { return r.skip() })
	case c == '[':
		return r.list('[', ']', r.skip)
	case c == '"':
		_, err = r.text()
	case isNumeric(c):
		_, err = r.number()
	default:
		_, err = r.value(nil)
	}
	return err
}

// isNumeric reports whether a number begins with this byte.
func isNumeric(c byte) bool { return c == '-' || '0' <= c && c <= '9' }

// list calls visit at each element between two brackets.
func (r *reader) list(open, end byte, visit func() error) error {
	if !r.accept(open) {
		return errMalformed
	}
	if r.depth++; r.depth > maxDepth {
		return errTooDeep
	}
	for first := true; ; first = false {
		if first && r.accept(end) {
			break
		}
		if err := visit(); err != nil {
			return err
		}
		if r.accept(end) {
			break
		}
		if !r.accept(',') {
			return errMalformed
		}
	}
	r.depth--
	return nil
}

// text reads a string. Without escapes it is a slice of the data.
func (r *reader) text() (string, error) {
	start, escaped := r.pos, false
	for r.pos++; r.pos < len(r.data); r.pos++ {
		switch c := r.data[r.pos]; {
		case c == '"':
			r.pos++
			return unescape(r.data[start+1:r.pos-1], escaped, r.exact)
		case c < ' ':
			return "", errMalformed
		case c == '\\':
			escaped = true
			r.pos++
		}
	}
	return "", errMalformed
}

// number reads a number and keeps its spelling.
func (r *reader) number() (json.Number, error) {
	start := r.pos
	r.literal("-")
	switch {
	case r.literal("0"):
	case r.digits() == 0:
		return "", errMalformed
	}
	if r.literal(".") && r.digits() == 0 {
		return "", errMalformed
	}
	if r.literal("e") || r.literal("E") {
		if !r.literal("+") {
			r.literal("-")
		}
		if r.digits() == 0 {
			return "", errMalformed
		}
	}
	return json.Number(r.data[start:r.pos]), nil
}

// digits moves past digits and counts them.
func (r *reader) digits() int {
	start := r.pos
	for r.pos < len(r.data) && '0' <= r.data[r.pos] && r.data[r.pos] <= '9' {
		r.pos++
	}
	return r.pos - start
}
