package auth

import (
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"io"
	"maps"
	"net/url"
	"slices"
	"strings"

	"holdfast/providers/decode"
	"holdfast/providers/definition"
)

// content is the compiled template of what a signature covers: literal text and {variables} in turn.
type content struct {
	parts    []string // odd ones are names of variables
	bodyHash string   // query parameter with the hash of a body that {params} leaves out
}

var contentVariables = []string{"body", "timestamp", "id", "url", "params"}

func newContent(p *definition.Problems, field, template string) content {
	var c content
	for rest := template; ; {
		literal, after, found := strings.Cut(rest, "{")
		c.parts = append(c.parts, literal)
		if !found {
			break
		}
		name, after, closed := strings.Cut(after, "}")
		if !closed || !slices.Contains(contentVariables, name) {
			p.Add(field, "want {body}, {timestamp}, {id}, {url} or {params} between braces")
			break
		}
		c.parts = append(c.parts, name)
		rest = after
	}
	if !c.has("body") && !c.has("params") {
		p.Add(field, "must hold {body} or {params}: a signature that leaves the body out proves nothing")
	}
	return c
}

func (c content) has(variable string) bool {
	for i := 1; i < len(c.parts); i += 2 {
		if c.parts[i] == variable {
			return true
		}
	}
	return false
}

// signedParts are the values of the variables for one request.
type signedParts struct {
	timestamp, id, url string
	request            *Request
}

// write feeds the signed content to a hash, without making a copy of the body.
func (c content) write(h io.Writer, v signedParts) {
	for i, part := range c.parts {
		if i%2 == 0 {
			_, _ = io.WriteString(h, part)
			continue
		}
		switch part {
		case "body":
			_, _ = h.Write(v.request.Body)
		case "timestamp":
			_, _ = io.WriteString(h, v.timestamp)
		case "id":
			_, _ = io.WriteString(h, v.id)
		case "url":
			_, _ = io.WriteString(h, v.url)
		case "params":
			_, _ = io.WriteString(h, sortedParams(v.request))
		}
	}
}

// sum is the hash of the signed content.
func (c content) sum(h hash.Hash, v signedParts) []byte {
	c.write(h, v)
	return h.Sum(nil)
}

// checkBody refuses a body that {params} does not cover: one that is no form, or not wholly one, unless its hash is in the
// (signed) query. A hash that is there holds for any body, so that none can take the place of the one that was hashed.
func (c content) checkBody(r *Request) error {
	if c.bodyHash == "" {
		return nil
	}
	if len(r.Header["content-type"]) > 1 { // it decides what is covered
		return deny(ReasonAmbiguousHeader)
	}
	switch declared := r.Query[c.bodyHash]; {
	case len(declared) > 0:
		want, err := hex.DecodeString(declared[0])
		got := sha256.Sum256(r.Body)
		if err == nil && slices.Equal(want, got[:]) {
			return nil
		}
	case len(r.Body) == 0:
		return nil
	case isForm(r):
		if fields, err := url.ParseQuery(string(r.Body)); err == nil && len(fields) > 0 {
			return nil
		}
	}
	return deny(ReasonUnsignedBody)
}

// urls are the forms of the request's URL that a sender may have signed: as called, without its port, and with the
// scheme's default port (Twilio does all three).
func (c content) urls(r *Request) []string {
	if !c.has("url") {
		return []string{""}
	}
	scheme, rest, ok := strings.Cut(r.URL, "://")
	if !ok {
		return []string{r.URL}
	}
	host, path := rest, ""
	if i := strings.IndexAny(rest, "/?"); i >= 0 {
		host, path = rest[:i], rest[i:]
	}
	if bare, _, found := strings.Cut(host, ":"); found {
		return []string{r.URL, scheme + "://" + bare + path}
	}
	port := map[string]string{"https": ":443", "http": ":80"}[scheme]
	return []string{r.URL, scheme + "://" + host + port + path}
}

func isForm(r *Request) bool {
	return decode.MediaType(url.Values(r.Header).Get("content-type")) == decode.FormType
}

// sortedParams is every form field's name and value, sorted, each pair once. Of a body that is no form it is nothing: checkBody
// refuses that.
func sortedParams(r *Request) string {
	if !isForm(r) {
		return ""
	}
	values, err := url.ParseQuery(string(r.Body))
	if err != nil {
		return ""
	}
	var pairs strings.Builder
	for _, name := range slices.Sorted(maps.Keys(values)) {
		slices.Sort(values[name])
		for _, v := range slices.Compact(values[name]) {
			pairs.WriteString(name)
			pairs.WriteString(v)
		}
	}
	return pairs.String()
}
