package providers

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// maxKeptValue is in bytes, for each header and parameter of a receipt.
const maxKeptValue = 1024

// alwaysKept are the headers that every receipt keeps.
var alwaysKept = []string{"content-type", "user-agent", "x-request-id", "x-correlation-id"}

// neverKept are the headers that carry secrets whatever the scheme.
var neverKept = []string{"authorization", "proxy-authorization", "cookie", "set-cookie"}

// kept names what a receipt keeps of the request beside the body. It is also all that expressions see of it, at the
// ingress and in the parse step, so that both compute alike.
type kept struct {
	headers, query []string
	hiddenPath     []string
}

func newKept(p *problems, d keepDefinition, a *Authenticator) kept {
	hidden, hiddenQuery, hiddenPath := a.Hidden()
	hidden = append(hidden, neverKept...)
	k := kept{headers: slices.Clone(alwaysKept), hiddenPath: hiddenPath}
	for i, name := range d.Headers {
		field := fmt.Sprintf("keep.headers[%d]", i)
		name = p.headerName(field, name)
		if slices.Contains(hidden, name) {
			p.add(field, "%q carries a secret or a signature, which is never kept", name)
		}
		k.headers = append(k.headers, name)
	}
	for i, name := range d.Query {
		if slices.Contains(hiddenQuery, name) {
			p.add(fmt.Sprintf("keep.query[%d]", i), "%q carries a secret, which is never kept", name)
		}
		k.query = append(k.query, name)
	}
	return k
}

// keep gives what the receipt keeps of a request, and what of it keys are made of: the same, but nothing is cut or cleaned, so
// that no two values become one.
func (k kept) keep(r *Request) (shown, whole particulars) {
	changed := false
	shown = k.take(r, func(s string) string {
		clean := cleanText(s, maxKeptValue)
		changed = changed || clean != s
		return clean
	})
	if !changed {
		return shown, shown
	}
	return shown, k.take(r, func(s string) string { return s })
}

// particulars are what is kept of a request beside its body.
type particulars struct{ headers, query, path map[string]string }

func (k kept) take(r *Request, form func(string) string) particulars {
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
	return particulars{headers, query, path}
}

// cleanText makes text valid UTF-8 without control characters and cuts it to size bytes, at the end of a character.
func cleanText(s string, size int) string {
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
