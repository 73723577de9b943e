package postgres

import (
	"bytes"
	"encoding/json"
	"strings"
	"unicode/utf8"

	"holdfast/event"
)

// Limits for jsonb. PostgreSQL itself allows some thousand levels, 131,072 digits and strings of 256 MB.
const (
	maxDepth      = 1000
	maxDigits     = 1000
	maxProjection = 64 << 20
	// maxExponent and minExponent are those of the largest and the smallest double, which is 49406564584124654e-340 with all of its
	// digits.
	maxExponent = 308
	minExponent = -340
	// MaxGrowth is how many digits a byte of a number can add.
	MaxGrowth = -minExponent
	// maxExpansion is how many bytes the numbers of a document may add when PostgreSQL writes them out: 1e308 becomes 309 digits.
	maxExpansion = 1 << 20
)

// Notes on a projection: which kind of value was changed, so that it differs from the bytes.
const (
	noteNotJSON   = "not_json"
	noteTooDeep   = "too_deep"
	noteTooLarge  = "too_large"
	noteNUL       = "replaced_nul"
	noteSurrogate = "replaced_surrogate"
	noteUTF8      = "replaced_utf8"
	noteNumber    = "quoted_number"
)

// replacement stands for a character that PostgreSQL can't store.
const replacement = "\uFFFD"

// Project converts JSON to JSON that jsonb accepts: \u0000, lone surrogates and invalid UTF-8 become U+FFFD, and numbers out of
// range become strings of their text. JSON without any of that is returned unchanged. The projection is nil if it is impossible,
// or would be many times as long as the JSON. note is a comma-separated list of the notes above, empty if nothing was changed.
//
// It takes linear time and never computes with a number.
func Project(raw []byte) (projection []byte, note string) {
	raw = event.WithoutMark(raw)
	switch {
	case len(raw) > maxProjection:
		return nil, noteTooLarge
	case !json.Valid(raw):
		return nil, noteNotJSON
	case depth(raw) > maxDepth:
		return nil, noteTooDeep
	}
	p := projector{in: raw, out: make([]byte, 0, len(raw))}
	if p.run(); p.expansion > maxExpansion {
		return nil, noteTooLarge
	}
	return p.out, strings.Join(p.notes, ",")
}

// ExpandedSize returns the length of valid JSON after PostgreSQL has written out its numbers.
func ExpandedSize(raw []byte) int {
	p := projector{in: raw, out: make([]byte, 0, len(raw))}
	p.run()
	return len(p.out) + p.expansion
}

// depth returns the nesting depth of valid JSON.
func depth(raw []byte) (deepest int) {
	level := 0
	for i := 0; i < len(raw); i++ {
		switch raw[i] {
		case '"':
			i = endOfString(raw, i)
		case '{', '[':
			level++
			deepest = max(deepest, level)
		case '}', ']':
			level--
		}
	}
	return deepest
}

// endOfString returns the index of the quote that closes the string opened at start.
func endOfString(raw []byte, start int) int {
	for i := start + 1; i < len(raw); i++ {
		switch raw[i] {
		case '\\':
			i++
		case '"':
			return i
		}
	}
	return len(raw)
}

type projector struct {
	in        []byte
	out       []byte
	at        int
	notes     []string
	expansion int
}

func (p *projector) run() {
	for p.at < len(p.in) {
		switch c := p.in[p.at]; {
		case c == '"':
			p.text()
		case c == '-' || isDigit(c):
			p.number()
		default:
			p.out = append(p.out, c)
			p.at++
		}
	}
}

func (p *projector) text() {
	end := endOfString(p.in, p.at)
	p.out = append(p.out, '"')
	for p.at++; p.at < end; {
		switch c := p.in[p.at]; {
		case c == '\\':
			p.escape()
		case c < utf8.RuneSelf:
			p.out = append(p.out, c)
			p.at++
		default:
			p.rune()
		}
	}
	p.out = append(p.out, '"')
	p.at = end + 1
}

// rune copies a character of more than one byte.
func (p *projector) rune() {
	r, size := utf8.DecodeRune(p.in[p.at:])
	if r == utf8.RuneError && size == 1 {
		p.replace(noteUTF8)
	} else {
		p.out = append(p.out, p.in[p.at:p.at+size]...)
	}
	p.at += size
}

func (p *projector) escape() {
	unit, ok := p.unit(p.at)
	switch {
	case !ok: // such as \n
		p.copy(2)
	case unit == 0:
		p.replace(noteNUL)
		p.at += 6
	case isHighSurrogate(unit):
		if low, ok := p.unit(p.at + 6); ok && isLowSurrogate(low) {
			p.copy(12)
			return
		}
		p.replace(noteSurrogate)
		p.at += 6
	case isLowSurrogate(unit):
		p.replace(noteSurrogate)
		p.at += 6
	default:
		p.copy(6)
	}
}

// unit returns the UTF-16 code unit of the \uXXXX at i; ok is false if there is none.
func (p *projector) unit(i int) (unit uint16, ok bool) {
	if i+6 > len(p.in) || p.in[i] != '\\' || p.in[i+1] != 'u' {
		return 0, false
	}
	for _, c := range p.in[i+2 : i+6] {
		unit = unit<<4 | uint16(hexValue(c))
	}
	return unit, true
}

// number copies a number, in quotes if it is out of range.
func (p *projector) number() {
	end := p.at
	for end < len(p.in) && isNumeric(p.in[end]) {
		end++
	}
	literal := p.in[p.at:end]
	if exponent, ok := exponentOf(literal); ok {
		p.out = append(p.out, literal...)
		p.expansion += exponent
	} else {
		p.note(noteNumber)
		p.out = append(p.out, '"')
		p.out = append(p.out, literal...)
		p.out = append(p.out, '"')
	}
	p.at = end
}

// exponentOf returns the size of a JSON number's exponent; ok is false if it is out of range, or if the number has more than
// maxDigits digits.
func exponentOf(literal []byte) (value int, ok bool) {
	mantissa, exponent, limit := literal, []byte(nil), maxExponent
	if i := bytes.IndexAny(literal, "eE"); i >= 0 {
		mantissa, exponent = literal[:i], bytes.TrimLeft(literal[i+1:], "+-0")
		if literal[i+1] == '-' {
			limit = -minExponent
		}
	}
	digits := len(mantissa) - bytes.Count(mantissa, []byte("-")) - bytes.Count(mantissa, []byte("."))
	if digits > maxDigits || len(exponent) > len("308") {
		return 0, false
	}
	for _, c := range exponent {
		value = value*10 + int(c-'0')
	}
	return value, value <= limit
}

func (p *projector) copy(n int) {
	p.out = append(p.out, p.in[p.at:p.at+n]...)
	p.at += n
}

func (p *projector) replace(note string) {
	p.note(note)
	p.out = append(p.out, replacement...)
}

func (p *projector) note(note string) {
	for _, n := range p.notes {
		if n == note {
			return
		}
	}
	p.notes = append(p.notes, note)
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func isNumeric(c byte) bool {
	return isDigit(c) || c == '-' || c == '+' || c == '.' || c == 'e' || c == 'E'
}

func isHighSurrogate(u uint16) bool { return 0xD800 <= u && u < 0xDC00 }

func isLowSurrogate(u uint16) bool { return 0xDC00 <= u && u < 0xE000 }

func hexValue(c byte) byte {
	switch {
	case c >= 'a':
		return c - 'a' + 10
	case c >= 'A':
		return c - 'A' + 10
	default:
		return c - '0'
	}
}
