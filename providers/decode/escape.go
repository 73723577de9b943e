package decode

import (
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

var jsonEscapes = map[byte]byte{
	'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t',
}

// unescape decodes the text between the quotes of a JSON string. Half of a surrogate pair becomes U+FFFD, as in encoding/json;
// with exactly, it becomes distinct bytes that aren't UTF-8.
func unescape(s string, escaped, exactly bool) (string, error) {
	if !escaped {
		return s, nil
	}
	out := make([]byte, 0, len(s))
	for {
		plain, rest, found := strings.Cut(s, `\`)
		out = append(out, plain...)
		if !found {
			return string(out), nil
		}
		if rest == "" {
			return "", errMalformed
		}
		if rest[0] != 'u' {
			c, ok := jsonEscapes[rest[0]]
			if !ok {
				return "", errMalformed
			}
			out, s = append(out, c), rest[1:]
			continue
		}
		c, n := unescapeUnicode(rest[1:])
		if n == 0 {
			return "", errMalformed
		}
		if exactly && utf16.IsSurrogate(c) {
			out = append(out, 0xe0|byte(c>>12), 0x80|byte(c>>6)&0xbf, 0x80|byte(c)&0xbf)
		} else {
			out = utf8.AppendRune(out, c) // U+FFFD for a surrogate
		}
		s = rest[1+n:]
	}
}

// unescapeUnicode decodes one escape, or the two of a surrogate pair, and returns their length; 0 if there is none. It returns
// half of a pair unchanged.
func unescapeUnicode(s string) (rune, int) {
	c, ok := fourHex(s)
	if !ok {
		return 0, 0
	}
	if !utf16.IsSurrogate(c) {
		return c, 4
	}
	if low, ok := strings.CutPrefix(s[4:], `\u`); ok {
		if second, ok := fourHex(low); ok {
			if pair := utf16.DecodeRune(c, second); pair != utf8.RuneError {
				return pair, 10
			}
		}
	}
	return c, 4
}

func fourHex(s string) (rune, bool) {
	if len(s) < 4 {
		return 0, false
	}
	n, err := strconv.ParseUint(s[:4], 16, 16)
	return rune(n), err == nil
}
