package decode

import (
	"regexp"
	"strings"
)

// A hash inspected in Ruby may contain values that aren't notation: times and dates as printed, objects, decimals. The second,
// lenient parse takes such a value as text, and tolerates an extra comma, an unknown escape, and an unquoted key. It never
// completes truncated input and never skips anything: its result has everything.

// guess reads a value or, if it isn't one, the text up to the next separator.
func (r *ruby) guess() (any, error) {
	r.peek()
	start, depth := r.pos, r.depth
	if v, err := r.strict(); err == nil && r.separated() {
		return v, nil
	}
	r.pos, r.depth = start, depth
	return r.bare()
}

// separated reports whether a value or a key ends here.
func (r *ruby) separated() bool {
	switch r.peek() {
	case 0, ',', '}', ']', '=', ':':
		return true
	}
	return false
}

// trailing reports whether a bracket closes after a comma.
func (r *ruby) trailing(end byte) bool { return r.lenient && r.peek() == end }

// dated matches a date as Rails prints it, whose comma isn't a separator: Wed, 01 May 2024 10:00:00 UTC +00:00.
var dated = regexp.MustCompile(`^(Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d{2} [A-Z][a-z]{2} \d{4}`)

// bare reads an object (#<Money 1, EUR>), or text without quotes up to the next separator.
func (r *ruby) bare() (any, error) {
	start := r.pos
	if strings.HasPrefix(r.data[r.pos:], "#<") {
		return r.inspected()
	}
	if c := r.peek(); c == '"' || c == '{' || c == '[' {
		return nil, errMalformedRuby // it began as another value, and is invalid
	}
	r.pos += len(dated.FindString(r.data[r.pos:]))
	if n := strings.IndexAny(r.data[r.pos:], `,{}[]"=`); n >= 0 {
		r.pos += n
	} else {
		r.pos = len(r.data)
	}
	text := strings.TrimSpace(r.data[start:r.pos])
	if text == "" || !r.separated() {
		return nil, errMalformedRuby
	}
	return text, nil
}

// inspected reads from #< to its >.
func (r *ruby) inspected() (any, error) {
	start, open := r.pos, 0
	for ; r.pos < len(r.data); r.pos++ {
		switch r.data[r.pos] {
		case '<':
			open++
		case '>':
			if r.data[r.pos-1] == '=' {
				continue // the arrow of a pair
			}
			if open--; open == 0 {
				r.pos++
				return r.data[start:r.pos], nil
			}
		}
	}
	return nil, errMalformedRuby
}
