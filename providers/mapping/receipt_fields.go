package mapping

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"holdfast/providers/auth"
	"holdfast/providers/definition"
)

// maxKeptValue is in bytes, for each header and parameter of a receipt.
const maxKeptValue = 1024

// alwaysKept are the headers that every receipt keeps.
var alwaysKept = []string{"content-type", "user-agent", "x-request-id", "x-correlation-id"}

// neverKept are the headers that carry secrets in any scheme.
var neverKept = []string{"authorization", "proxy-authorization", "cookie", "set-cookie"}

// ReceiptFields names what a receipt keeps of the request in addition to the body. Expressions see nothing else of
// it, at the ingress and in the parse step, so that both compute the same.
type ReceiptFields struct {
	headers, query []string
	hiddenPath     []string
}

// NewReceiptFields compiles what a definition keeps, without what carries secrets or signatures.
func NewReceiptFields(p *definition.Problems, d definition.Keep, a *auth.Authenticator) ReceiptFields {
	hidden, hiddenQuery, hiddenPath := a.Hidden()
	hidden = append(hidden, neverKept...)
	k := ReceiptFields{headers: slices.Clone(alwaysKept), hiddenPath: hiddenPath}
	for i, name := range d.Headers {
		field := fmt.Sprintf("keep.headers[%d]", i)
		name = p.HeaderName(field, name)
		if slices.Contains(hidden, name) {
			p.Add(field, "%q carries a secret or a signature, which is never kept", name)
		}
		k.headers = append(k.headers, name)
	}
	for i, name := range d.Query {
		if slices.Contains(hiddenQuery, name) {
			p.Add(fmt.Sprintf("keep.query[%d]", i), "%q carries a secret, which is never kept", name)
		}
		k.query = append(k.query, name)
	}
	return k
}

// WithoutPath returns a copy without these path variables.
func (k ReceiptFields) WithoutPath(names []string) ReceiptFields {
	k.hiddenPath = slices.Concat(k.hiddenPath, names)
	return k
}

// HeaderNames returns the headers that a receipt keeps, in lower case.
func (k ReceiptFields) HeaderNames() []string { return k.headers }

// Of returns what the receipt keeps of a request, and the same values for keys, where nothing is cut or cleaned, so that
// different values stay different. It reports whether the two differ.
func (k ReceiptFields) Of(r *auth.Request) (shown, whole Fields, differ bool) {
	shown = k.collect(r, func(s string) string {
		clean := CleanText(s, maxKeptValue)
		differ = differ || clean != s
		return clean
	})
	if !differ {
		return shown, shown, false
	}
	return shown, k.collect(r, func(s string) string { return s }), true
}

// Fields are the parts of a request that are kept in addition to its body.
type Fields struct{ Headers, Query, Path map[string]string }

func (k ReceiptFields) collect(r *auth.Request, form func(string) string) Fields {
	var headers, query, path map[string]string
	headers = make(map[string]string, len(k.headers))
	if len(k.query) > 0 {
		query = map[string]string{}
	}
	if len(r.PathParams) > 0 {
		path = map[string]string{}
	}
	for _, name := range k.headers {
		if values := r.Header[name]; len(values) > 0 {
			headers[name] = form(strings.Join(values, ", "))
		}
	}
	for _, name := range k.query {
		if values := r.Query[name]; len(values) > 0 {
			query[name] = form(values[0])
		}
	}
	for name, value := range r.PathParams {
		if !slices.Contains(k.hiddenPath, name) {
			path[name] = form(value)
		}
	}
	return Fields{headers, query, path}
}

// MayBeCut reports whether a receipt may have kept only the beginning of a value.
func MayBeCut(fields ...map[string]string) bool {
	for _, values := range fields {
		for _, v := range values {
			if len(v) > maxKeptValue-utf8.UTFMax {
				return true
			}
		}
	}
	return false
}

// CleanText makes text valid UTF-8 without control characters and cuts it to size bytes at a character boundary.
func CleanText(s string, size int) string {
	s = strings.Map(func(c rune) rune {
		if c < ' ' || (c >= 0x7f && c <= 0x9f) {
			return -1
		}
		return c
	}, strings.ToValidUTF8(s, "\uFFFD"))
	if len(s) <= size {
		return s
	}
	for size > 0 && !utf8.RuneStart(s[size]) {
		size--
	}
	return s[:size]
}
