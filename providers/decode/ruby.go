package decode

import (
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf8"

	"holdfast/event"
)

var errMalformedRuby = event.Rejectf("malformed_ruby", "a field is neither Ruby's Hash#inspect nor JSON")

// Ruby parses a text that is JSON or the output of Ruby's Hash#inspect, old ({"a"=>nil, :b=>1}) and new ({"a" => nil, b: 1}).
func Ruby(s string) (any, error) {
	if v, err := JSON([]byte(s)); err == nil {
		return v, nil
	}
	if !utf8.ValidString(s) {
		return nil, errMalformedRuby
	}
	for _, lenient := range []bool{false, true} {
		r := ruby{reader: reader{data: s}, lenient: lenient}
		if v, err := r.value(); err == nil && r.end() == nil {
			return v, nil
		}
	}
	return nil, errMalformedRuby
}

type ruby struct {
	reader
	// lenient accepts values that aren't valid notation: see ruby_lenient.go.
	lenient bool
}

func (r *ruby) value() (any, error) {
	if !r.lenient {
		return r.strict()
	}
	return r.guess()
}

func (r *ruby) strict() (any, error) {
	switch c := r.peek(); {
	case c == '{':
		return r.hash()
	case c == '[':
		items := []any{}
		err := r.list('[', ']', func() error {
			if r.trailing(']') {
				return nil
			}
			v, err := r.value()
			items = append(items, v)
			return err
		})
		return items, err
	case c == '"':
		return r.text()
	case c == ':':
		r.pos++
		return r.symbol()
	case r.literal("nil"), r.literal("NaN"), r.literal("Infinity"), r.literal("-Infinity"):
		return nil, nil
	case r.literal("true"):
		return true, nil
	case r.literal("false"):
		return false, nil
	}
	return r.number()
}

func (r *ruby) hash() (any, error) {
	m := map[string]any{}
	err := r.list('{', '}', func() error {
		if r.trailing('}') {
			return nil
		}
		name, err := r.key()
		if err != nil {
			return err
		}
		v, err := r.value()
		m[name] = v
		return err
	})
	return m, err
}

// key reads the key of a pair and its separator: "a"=> :a=> a: "a": 1=> nil=>.
func (r *ruby) key() (string, error) {
	r.peek()
	start, depth := r.pos, r.depth
	name, err := r.plainKey()
	if err != nil && r.lenient {
		r.pos, r.depth = start, depth
		return r.guessKey()
	}
	return name, err
}

func (r *ruby) plainKey() (string, error) {
	c := r.peek()
	var name string
	var err error
	short := c != '"' && c != ':' && c != '-' && (c < '0' || c > '9') && !strings.HasPrefix(r.data[r.pos:], "nil")
	switch {
	case short:
		name, err = r.symbol()
	default:
		var v any
		if v, err = r.value(); err == nil {
			name = keyText(v)
		}
	}
	if err != nil {
		return "", err
	}
	if (short || c == '"') && r.accept(':') {
		return name, nil
	}
	if short && !r.lenient || !r.accept('=') || !r.literal(">") {
		return "", errMalformedRuby
	}
	return name, nil
}

// keyText returns a key as in JSON.
func keyText(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case json.Number:
		return CanonicalNumber(v.String())
	case map[string]any, []any:
		text, err := json.Marshal(v)
		if err != nil {
			return "" // impossible: it consists of what JSON has
		}
		return string(text)
	}
	return ""
}

// symbol reads what follows the colon of a symbol.
func (r *ruby) symbol() (string, error) {
	if r.pos < len(r.data) && r.data[r.pos] == '"' {
		return r.text()
	}
	start := r.pos
	for r.pos < len(r.data) && isSymbolByte(r.data[r.pos]) {
		r.pos++
	}
	if start == r.pos {
		return r.operator()
	}
	if rest := r.data[r.pos:]; strings.HasPrefix(rest, "=") && endsSymbol(rest[1:]) { // :name= is the name of a setter
		r.pos++
	}
	return r.data[start:r.pos], nil
}

// rubyOperators are the symbols without letters, the longest first.
var rubyOperators = []string{
	"[]=", "<=>", "===", "[]", "==", "=~", "!=", "!~", "**", "+@", "-@", "<<", ">>", "<=", ">=",
	"<", ">", "+", "-", "*", "/", "%", "&", "|", "^", "~", "!", "`",
}

// operator reads the longest operator after which a symbol can end: in {:<=>1} it is <, in [:<=>] it is <=>.
func (r *ruby) operator() (string, error) {
	for _, name := range rubyOperators {
		if rest, ok := strings.CutPrefix(r.data[r.pos:], name); ok && endsSymbol(rest) {
			r.pos += len(name)
			return name, nil
		}
	}
	return "", errMalformedRuby
}

func endsSymbol(rest string) bool {
	return rest == "" || strings.ContainsRune(",}] ", rune(rest[0])) || strings.HasPrefix(rest, "=>")
}

func isSymbolByte(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' ||
		c == '_' || c == '?' || c == '!' || c == '@' || c >= utf8.RuneSelf
}

// text reads a string in double quotes.
func (r *ruby) text() (string, error) {
	var b strings.Builder
	for r.pos++; r.pos < len(r.data); {
		c := r.data[r.pos]
		r.pos++
		switch c {
		case '"':
			return b.String(), nil
		case '\\':
			if err := r.escape(&b); err != nil {
				return "", err
			}
		default:
			b.WriteByte(c)
		}
	}
	return "", errMalformedRuby
}

var rubyEscapes = map[byte]byte{
	'n': '\n', 't': '\t', 'r': '\r', 'a': '\a', 'b': '\b', 'e': 0x1b, 'f': '\f', 'v': '\v', 's': ' ', '0': 0,
	'"': '"', '\\': '\\', '#': '#', '\'': '\'',
}

// escape reads what follows a backslash.
func (r *ruby) escape(b *strings.Builder) error {
	if r.pos >= len(r.data) {
		return errMalformedRuby
	}
	c := r.data[r.pos]
	r.pos++
	switch c {
	case 'u':
		return r.unicode(b)
	case 'x':
		return r.bytes(b)
	}
	plain, ok := rubyEscapes[c]
	if !ok && !r.lenient {
		return errMalformedRuby
	}
	if !ok {
		plain = c
	}
	b.WriteByte(plain)
	return nil
}

// bytes reads D0\x98: bytes that Ruby printed as numbers. What is UTF-8 is read as such; any other byte becomes the character
// with that number.
func (r *ruby) bytes(b *strings.Builder) error {
	var run []byte
	for more := true; more; more = r.literal(`\x`) {
		n, err := r.hex(2)
		if err != nil {
			return err
		}
		run = append(run, byte(n))
	}
	for len(run) > 0 {
		char, size := utf8.DecodeRune(run)
		if char == utf8.RuneError && size == 1 {
			char = rune(run[0])
		}
		b.WriteRune(char)
		run = run[size:]
	}
	return nil
}

// unicode reads 00e9 or {1f600}.
func (r *ruby) unicode(b *strings.Builder) error {
	if !r.literal("{") {
		n, err := r.hex(4)
		b.WriteRune(n)
		return err
	}
	end := strings.IndexByte(r.data[r.pos:], '}')
	if end < 1 || end > 6 {
		return errMalformedRuby
	}
	n, err := r.hex(end)
	r.pos++
	b.WriteRune(n)
	return err
}

func (r *ruby) hex(digits int) (rune, error) {
	if r.pos+digits > len(r.data) {
		return 0, errMalformedRuby
	}
	n, err := strconv.ParseUint(r.data[r.pos:r.pos+digits], 16, 32)
	r.pos += digits
	if err != nil || n > utf8.MaxRune {
		return 0, errMalformedRuby
	}
	return rune(n), nil
}
