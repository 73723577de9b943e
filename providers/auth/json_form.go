package auth

import (
	"bytes"
	"encoding/json"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

func compact(body []byte) []byte {
	var out bytes.Buffer
	if json.Compact(&out, body) != nil {
		return nil
	}
	return out.Bytes()
}

// spaced takes compact JSON.
func spaced(body []byte) []byte {
	out := make([]byte, 0, len(body)+len(body)/8)
	eachByte(body, func(b byte, isText bool) {
		out = append(out, b)
		if !isText && (b == ',' || b == ':') {
			out = append(out, ' ')
		}
	})
	return out
}

// maxIndent is how deep JSON may be that is indented: what is deeper would grow beyond measure.
const maxIndent = 20

// indented takes compact JSON.
func indented(body []byte) []byte {
	depth, deepest := 0, 0
	eachByte(body, func(b byte, isText bool) {
		switch {
		case isText:
		case b == '{' || b == '[':
			depth++
			deepest = max(deepest, depth)
		case b == '}' || b == ']':
			depth--
		}
	})
	var out bytes.Buffer
	if deepest > maxIndent || json.Indent(&out, body, "", "  ") != nil {
		return nil
	}
	return out.Bytes()
}

// eachByte says of each byte of a JSON document whether it is of a text.
func eachByte(body []byte, see func(b byte, isText bool)) {
	isText, isEscaped := false, false
	for _, b := range body {
		isQuote := b == '"' && !isEscaped
		see(b, isText || isQuote)
		if isQuote {
			isText = !isText
		}
		isEscaped = isText && b == '\\' && !isEscaped
	}
}

// escapeText writes what is not ASCII as \uXXXX. Outside of texts JSON has nothing of that kind.
func escapeText(body []byte) []byte {
	var out []byte
	for len(body) > 0 {
		r, size := utf8.DecodeRune(body)
		if r < utf8.RuneSelf || r == utf8.RuneError && size == 1 {
			out = append(out, body[0])
		} else {
			for _, unit := range utf16.Encode([]rune{r}) {
				out = append(out, '\\', 'u', hexDigits[unit>>12], hexDigits[unit>>8&15], hexDigits[unit>>4&15], hexDigits[unit&15])
			}
		}
		body = body[size:]
	}
	return out
}

const hexDigits = "0123456789abcdef"

// unescapeText writes as it is what need not be escaped: letters and the slash.
func unescapeText(body []byte) []byte {
	out := make([]byte, 0, len(body))
	for len(body) > 0 {
		text, size := body[:1], 1
		if body[0] == '\\' {
			text, size = unescape(body)
		}
		out, body = append(out, text...), body[size:]
	}
	return out
}

// unescape gives what the escape at the beginning of a text stands for, or the escape itself where that must stay one.
func unescape(body []byte) (text []byte, size int) {
	if len(body) < 2 {
		return body, len(body)
	}
	if body[1] == '/' {
		return body[1:2], 2
	}
	if body[1] != 'u' || len(body) < 6 {
		return body[:2], 2
	}
	size = 6
	if len(body) >= 12 && body[6] == '\\' && body[7] == 'u' && strings.ContainsRune("dD", rune(body[2])) {
		size = 12
	}
	var s string
	if json.Unmarshal([]byte(`"`+string(body[:size])+`"`), &s) != nil || strings.ContainsAny(s, "\"\\\ufffd") || s < " " {
		return body[:size], size
	}
	return []byte(s), size
}
