package decode

import (
	"net/url"
	"strings"
)

// formFields reads a form as browsers and the URL standard do: only & separates fields, and a % without two hex digits stands for
// itself. It never fails, and reads every form that url.ParseQuery accepts alike. Signatures over fields are checked with the
// strict url.ParseQuery, so that a form has one meaning there, or is refused.
func formFields(body string) url.Values {
	fields := url.Values{}
	for pair := range strings.SplitSeq(body, "&") {
		if pair == "" {
			continue
		}
		name, value, _ := strings.Cut(pair, "=")
		name = unescapeField(name)
		fields[name] = append(fields[name], unescapeField(value))
	}
	return fields
}

func unescapeField(s string) string {
	if !strings.ContainsAny(s, "%+") {
		return s
	}
	out := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '+':
			out = append(out, ' ')
		case s[i] == '%' && i+2 < len(s) && isHex(s[i+1]) && isHex(s[i+2]):
			out = append(out, hexValue(s[i+1])<<4|hexValue(s[i+2]))
			i += 2
		default:
			out = append(out, s[i])
		}
	}
	return string(out)
}

func isHex(c byte) bool { return strings.IndexByte(hexDigits, c) >= 0 }

func hexValue(c byte) byte { return byte(strings.IndexByte(hexDigits, c|0x20)) % 16 }

const hexDigits = "0123456789abcdefABCDEF"
