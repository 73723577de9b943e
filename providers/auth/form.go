package auth

import (
	"bytes"
	"encoding/json"
	"strings"
	"time"
	"unicode/utf16"
	"unicode/utf8"

	"holdfast/providers/auth/denial"
)

// Examine analyses a request that was refused for its signature. If the signature is valid for another form of the body, or for
// another URL, the request was changed in transit, or the URL is misconfigured, and the error says so. Otherwise the error
// lists the forms tried, since a wrong secret and an otherwise changed body can't be distinguished. The refusal stands in
// either case, and no form of the body is kept.
//
// It verifies about twenty times. For unauthenticated requests the caller must limit the rate and the body size.
func (a *Authenticator) Examine(r *Request, now time.Time, refused *denial.Error) *denial.Error {
	if refused.Reason != denial.BadSignature {
		return refused
	}
	found := *refused
	for _, f := range forms {
		other := *r
		if !f.change(&other) {
			continue
		}
		if a.isSigned(&other, now) {
			found.Reason, found.Fits, found.Tried = f.reason, f.name, nil
			return &found
		}
		found.Tried = append(found.Tried, f.name)
	}
	return &found
}

// isSigned reports whether a signature is valid, whatever its time.
func (a *Authenticator) isSigned(r *Request, now time.Time) bool {
	chosen, _ := a.chosen(r)
	for _, i := range chosen {
		s := a.schemes[i].scheme
		if !signs(s) {
			continue
		}
		switch err := s.authenticate(a.keyring, r, now); {
		case err == nil, denial.ReasonOf(err) == denial.StaleTimestamp, denial.ReasonOf(err) == denial.TimestampFromFuture:
			return true
		}
	}
	return false
}

// signs reports whether a scheme covers the body.
func signs(s scheme) bool {
	switch s := s.(type) {
	case *hmacScheme, *publicKeyScheme:
		return true
	case *jwtScheme:
		return s.bodyHash != ""
	}
	return false
}

// form is another form of a request. change returns false if it would be the same or impossible.
type form struct {
	name   string
	reason denial.Reason
	change func(*Request) bool
}

// forms are common modifications of requests in transit, and common misconfigurations.
var forms = append([]form{
	ofBody("the body without surrounding white space", bytes.TrimSpace),
	ofBody("the body without its final newline", func(b []byte) []byte { return bytes.TrimSuffix(b, []byte("\n")) }),
	ofBody("the body with a newline appended", func(b []byte) []byte { return append(bytes.Clone(b), '\n') }),
	ofBody("the body with LF line endings", func(b []byte) []byte { return bytes.ReplaceAll(b, []byte("\r\n"), []byte("\n")) }),
	ofBody("the body with CRLF line endings", func(b []byte) []byte {
		return bytes.ReplaceAll(bytes.ReplaceAll(b, []byte("\r\n"), []byte("\n")), []byte("\n"), []byte("\r\n"))
	}),
	ofBody("the body without its byte order mark", func(b []byte) []byte { return bytes.TrimPrefix(b, []byte("\xef\xbb\xbf")) }),
	{"the URL with http and https swapped", denial.OtherURL, swapProtocol},
	{"the URL as https with the request's own host", denial.OtherURL, func(r *Request) bool { return r.atOwnHost("https") }},
	{"the URL as http with the request's own host", denial.OtherURL, func(r *Request) bool { return r.atOwnHost("http") }},
}, jsonForms()...)

// jsonForms returns the ways in which libraries format one JSON document: three layouts, each with non-ASCII characters escaped
// or not. The order of fields and the number format are the body's own.
func jsonForms() (all []form) {
	texts := []struct {
		name  string
		write func([]byte) []byte
	}{
		{"", func(b []byte) []byte { return b }}, {" in ASCII", escapeText}, {" without escapes", unescapeText},
	}
	layouts := []struct {
		name  string
		write func([]byte) []byte
	}{
		{"compact JSON", compact}, {"JSON with a space after each comma and colon", spaced}, {"JSON indented by two spaces", indented},
	}
	for _, layout := range layouts {
		for _, text := range texts {
			all = append(all, ofBody("the body as "+layout.name+text.name, func(b []byte) []byte {
				if b = compact(b); b == nil {
					return nil
				}
				return layout.write(text.write(b))
			}))
		}
	}
	return all
}

// ofBody returns a form of the body; write returns nil if there is none.
func ofBody(name string, write func([]byte) []byte) form {
	return form{name, denial.ModifiedBody, func(r *Request) bool {
		body := write(r.Body)
		same := body == nil || bytes.Equal(body, r.Body)
		r.Body = body
		return !same
	}}
}

func swapProtocol(r *Request) bool {
	switch {
	case strings.HasPrefix(r.URL, "https://"):
		r.URL = "http://" + r.URL[len("https://"):]
	case strings.HasPrefix(r.URL, "http://"):
		r.URL = "https://" + r.URL[len("http://"):]
	default:
		return false
	}
	return true
}

// atOwnHost uses the host that the request itself names.
func (r *Request) atOwnHost(protocol string) bool {
	host, err := r.header("host")
	_, rest, absolute := strings.Cut(r.URL, "://")
	if !absolute {
		rest = r.URL
	}
	i := strings.IndexByte(rest, '/')
	if err != nil || host == "" || i < 0 {
		return false
	}
	before := r.URL
	r.URL = protocol + "://" + host + rest[i:]
	return r.URL != before
}

func compact(body []byte) []byte {
	var out bytes.Buffer
	if json.Compact(&out, body) != nil {
		return nil
	}
	return out.Bytes()
}

// spaced expects compact JSON.
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

// maxIndent is the maximum depth of JSON that is indented: deeper documents would grow too much.
const maxIndent = 20

// indented expects compact JSON.
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

// eachByte calls see for each byte of a JSON document, with whether it is within a string.
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

// escapeText escapes non-ASCII characters as \uXXXX. JSON has none outside of strings.
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

// unescapeText unescapes whatever needs no escape: letters and the slash.
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

// unescape returns the meaning of the escape at the beginning of a text, or the escape itself if it is required.
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
