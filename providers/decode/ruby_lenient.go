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
	for _, read := range []func() (any, error){r.set, r.strict, r.textRange, r.pattern} {
		if v, err := read(); err == nil && r.separated() {
			return v, nil
		}
		r.pos, r.depth = start, depth
	}
	return r.bare()
}

// guessKey reads a key that is a date, a list or an object.
func (r *ruby) guessKey() (string, error) {
	v, err := r.guess()
	if err != nil || !r.accept('=') || !r.literal(">") {
		return "", errMalformedRuby
	}
	return keyText(v), nil
}

// set reads a set as a list: Set[1, 2], before Ruby 4.0 #<Set: {1, 2}>.
func (r *ruby) set() (any, error) {
	items := []any{}
	add := func() error {
		v, err := r.value()
		items = append(items, v)
		return err
	}
	if r.literal("Set") && r.peek() == '[' {
		return items, r.list('[', ']', add)
	}
	if !r.literal("#<Set: ") {
		return nil, errMalformedRuby
	}
	if err := r.list('{', '}', add); err != nil || !r.accept('>') {
		return nil, errMalformedRuby
	}
	return items, nil
}

// textRange reads a range of texts as text: "a".."c".
func (r *ruby) textRange() (any, error) {
	start := r.pos
	end := func() bool {
		if r.peek() != '"' {
			return r.literal("nil")
		}
		_, err := r.text()
		return err == nil
	}
	if !end() || !r.literal("..") {
		return nil, errMalformedRuby
	}
	r.literal(".")
	if !end() && !r.separated() {
		return nil, errMalformedRuby
	}
	return r.data[start:r.pos], nil
}

// pattern reads a regular expression as text: /a{1,2}/i.
func (r *ruby) pattern() (any, error) {
	start := r.pos
	if !r.literal("/") {
		return nil, errMalformedRuby
	}
	for ; r.pos < len(r.data); r.pos++ {
		switch r.data[r.pos] {
		case '\\':
			r.pos++
		case '/':
			for r.pos++; r.pos < len(r.data) && 'a' <= r.data[r.pos] && r.data[r.pos] <= 'z'; {
				r.pos++
			}
			return r.data[start:r.pos], nil
		}
	}
	return nil, errMalformedRuby
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

// Values that Rails prints with commas, which aren't separators: a date (Wed, 01 May 2024 10:00:00 UTC +00:00), after which a
// range may end with another one, and a duration (1 hour, 2 minutes, and 3 seconds), whose units decrease.
const rubyDate = `(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d{2} [A-Z][a-z]{2} \d{4}`

var (
	dated    = regexp.MustCompile(`^` + rubyDate + `(?:[^,{}\[\]"=]*\.\.` + rubyDate + `)?`)
	duration = regexp.MustCompile(`^` + partsOf("year", "month", "week", "day", "hour", "minute") +
		`and -?[\d.]+ (?:month|week|day|hour|minute|second)s?`)
)

func partsOf(units ...string) (pattern string) {
	for _, unit := range units {
		pattern += `(?:-?[\d.]+ ` + unit + `s?, )?`
	}
	return pattern
}

// bare reads an object (#<Money 1, EUR>), or text without quotes up to the next separator.
func (r *ruby) bare() (any, error) {
	start := r.pos
	if strings.HasPrefix(r.data[r.pos:], "#<") {
		return r.inspected()
	}
	if c := r.peek(); c == '"' || c == '{' || c == '[' {
		return nil, errMalformedRuby // it began as another value, and is invalid
	}
	rest := r.data[r.pos:]
	r.pos += max(len(dated.FindString(rest)), len(duration.FindString(rest)))
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
		case '"':
			r.skipText()
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

// skipText moves to the end of a text, whose brackets don't count. A quotation mark without a second one is itself.
func (r *ruby) skipText() {
	for at := r.pos + 1; at < len(r.data); at++ {
		switch r.data[at] {
		case '\\':
			at++
		case '"':
			r.pos = at
			return
		}
	}
}
