package auth

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"hash/crc32"
	"io"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"holdfast/providers/auth/denial"
	"holdfast/providers/auth/urlform"
	"holdfast/providers/decode"
	"holdfast/providers/definition"
)

// content is the compiled template of what a signature covers: alternating literal text and {variables}.
type content struct {
	parts    []contentPart
	places   []string // distinct paths within the body
	bodyHash string   // query parameter with the hash of a body that {params} leaves out
}

// contentPart is literal text, or a variable with the part after its colon.
type contentPart struct {
	literal, variable, of string
	// before and after surround the value of a part that may be missing, and are missing with it; "" for a required one.
	before, after string
	// allowed are the only valid values of a line; empty means any.
	allowed []string
}

// contentVariables have no argument; contentPlaces name a header or a dotted path of the body after a colon.
var (
	contentVariables = []string{"body", "timestamp", "id", "url", "path", "params", "method", "crc32", "body_sha256", "secret"}
	contentPlaces    = []string{"header", "query", "listed", "named", "field", "sorted", "line", "lines"}
)

func newContent(p *definition.Problems, field, template string) content {
	var c content
	for rest := template; rest != ""; {
		literal, after, found := strings.Cut(rest, "{")
		if literal != "" {
			c.parts = append(c.parts, contentPart{literal: literal})
		}
		if !found {
			break
		}
		name, after, closed := strings.Cut(after, "}")
		part, ok := newVariable(name)
		if !closed || !ok {
			p.Add(field, "want {body}, {timestamp}, {id}, {url}, {url:normalized}, {url:decoded}, {path}, {params}, {method}, "+
				"{crc32}, {body_sha256}, {body_sha256:base64}, {body_sha256:base64url}, {secret}, {header:NAME}, {query:NAME}, "+
				"{header:NAME|BEFORE|AFTER}, {query:NAME|BEFORE|AFTER}, "+
				"{listed:NAME}, {named:FIELD}, {field:PATH}, {sorted:PATH}, {line:PATH}, {line:PATH=VALUE|VALUE} or {lines:PATH} "+
				"between braces")
			break
		}
		if part.variable == "header" || part.variable == "listed" {
			part.of = p.HeaderName(field, part.of)
		}
		if (part.variable == "field" || part.isLine()) && !slices.Contains(c.places, part.of) {
			c.places = append(c.places, part.of)
		}
		c.parts = append(c.parts, part)
		rest = after
	}
	c.checkOptional(p, field)
	return c
}

// checkOptional requires that parts that may be missing begin differently from each other and from the text after them. Their
// values never contain the text that ends them, so a signed text has one meaning: no value can stand for another part.
func (c content) checkOptional(p *definition.Problems, field string) {
	for i, part := range c.parts {
		rest := c.parts[i+1:]
		next := slices.IndexFunc(rest, func(other contentPart) bool { return other.after == "" })
		if part.after != "" && next >= 0 && (rest[next].literal == "" || beginAlike(rest[next].literal, part.before)) {
			p.Add(field, "the text after %s:%s, which may be missing, must not begin like %q", part.variable, part.of, part.before)
		}
		for _, other := range c.parts[:i] {
			if part.after != "" && other.after != "" && beginAlike(part.before, other.before) {
				p.Add(field, "parts that may be missing must begin with different text: %q and %q", other.before, part.before)
			}
		}
	}
}

func beginAlike(a, b string) bool { return strings.HasPrefix(a, b) || strings.HasPrefix(b, a) }

func newVariable(text string) (contentPart, bool) {
	name, of, placed := strings.Cut(text, ":")
	if placed && name == "line" {
		path, values, limited := strings.Cut(of, "=")
		part := contentPart{variable: name, of: path}
		if limited {
			part.allowed = strings.Split(values, "|")
		}
		return part, path != ""
	}
	if placed && (name == "header" || name == "query") && strings.Contains(of, "|") {
		texts := strings.Split(of, "|")
		if len(texts) != 3 || slices.Contains(texts, "") {
			return contentPart{}, false
		}
		return contentPart{variable: name, of: texts[0], before: texts[1], after: texts[2]}, true
	}
	if placed && name == "body_sha256" {
		return contentPart{variable: name, of: of}, encodings[of].encode != nil
	}
	if placed && name == "url" {
		return contentPart{variable: name, of: of}, urlform.Further[of] != nil
	}
	if placed {
		return contentPart{variable: name, of: of}, slices.Contains(contentPlaces, name) && of != ""
	}
	return contentPart{variable: name}, slices.Contains(contentVariables, name)
}

func (c content) has(variable string) bool {
	return slices.ContainsFunc(c.parts, func(part contentPart) bool { return part.variable == variable })
}

// coversBody reports whether every byte of the body is covered.
func (c content) coversBody() bool {
	return slices.ContainsFunc([]string{"body", "body_sha256", "params", "crc32"}, c.has)
}

// queries returns the query parameters that are covered.
func (c content) queries() (names []string) {
	for _, part := range c.parts {
		if part.variable == "query" {
			names = append(names, part.of)
		}
	}
	return names
}

// headers returns those that {header:NAME} covers, and those that list others.
func (c content) headers() (names []string) {
	for _, part := range c.parts {
		if part.variable == "header" || part.variable == "listed" {
			names = append(names, part.of)
		}
	}
	return names
}

// signedParts contains the values of the variables for one request.
type signedParts struct {
	timestamp, id, url, secret string
	// named has a line for each header that a token names.
	named   string
	places  map[string]decode.Place
	sorted  map[string]string
	request *Request
}

// write writes the signed content to a hash without copying the body.
func (c content) write(h io.Writer, v signedParts) {
	for _, part := range c.parts {
		switch part.variable {
		case "body":
			_, _ = h.Write(v.request.Body)
		case "line", "lines": // AWS: a name and its value, where there is one
			if place := v.places[part.of]; place.Found {
				_, _ = io.WriteString(h, part.of+"\n"+place.Text+"\n")
			}
		default:
			_, _ = io.WriteString(h, v.value(part))
		}
	}
}

func (v signedParts) value(part contentPart) string {
	switch part.variable {
	case "timestamp":
		return v.timestamp
	case "id":
		return v.id
	case "url":
		return v.url
	case "params":
		return sortedParams(v.request)
	case "method":
		return v.request.Method
	case "crc32":
		return strconv.FormatUint(uint64(crc32.ChecksumIEEE(v.request.Body)), 10)
	case "body_sha256":
		sum := sha256.Sum256(v.request.Body)
		return encodings[cmp.Or(part.of, "hex")].encode(sum[:])
	case "secret":
		return v.secret
	case "path":
		return pathOf(v.request)
	case "header":
		return part.around(url.Values(v.request.Header).Get(part.of))
	case "query":
		return part.around(url.Values(v.request.Query).Get(part.of))
	case "named":
		return v.named
	case "listed":
		return withValues(v.request, listed(v.request, part.of))
	case "field":
		return v.places[part.of].Text
	case "sorted":
		return v.sorted[part.of]
	}
	return part.literal
}

// around returns a value with the text around it; a missing value that may be missing is "".
func (p contentPart) around(value string) string {
	if value == "" {
		return ""
	}
	return p.before + value + p.after
}

// readPlaces reads the signed values of the body.
func (c content) readPlaces(r *Request) (map[string]decode.Place, error) {
	if len(c.places) == 0 {
		return nil, nil
	}
	return placesOf(r, c.places...)
}

// readSorted reads the objects of the body whose fields are signed in order, as payOS writes them: name=value&name=value.
func (c content) readSorted(r *Request) (map[string]string, error) {
	var all map[string]string
	for _, part := range c.parts {
		if part.variable != "sorted" {
			continue
		}
		if as, err := r.as(); err != nil || as != "json" {
			return nil, denial.At(denial.MalformedHeader, partOfBody(part.of))
		}
		fields, err := decode.TextFields(r.Body, strings.Split(part.of, "."))
		if err != nil {
			return nil, denial.At(denial.MalformedHeader, partOfBody(part.of))
		}
		pairs := make([]string, 0, len(fields))
		for _, name := range slices.Sorted(maps.Keys(fields)) {
			if strings.ContainsAny(name, "&=") || isPair(fields[name]) { // it could stand for two fields
				return nil, denial.At(denial.MalformedHeader, partOfBody(part.of))
			}
			pairs = append(pairs, name+"="+fields[name])
		}
		if all == nil {
			all = map[string]string{}
		}
		all[part.of] = strings.Join(pairs, "&")
	}
	return all, nil
}

// isPair reports whether a value has what separates a pair from the next: "&name=".
var isPair = regexp.MustCompile(`&[^&=\s]*=`).MatchString

func (c content) sum(h hash.Hash, v signedParts) []byte {
	c.write(h, v)
	return h.Sum(nil)
}

func (c content) message(v signedParts) []byte {
	var message bytes.Buffer
	c.write(&message, v)
	return message.Bytes()
}

// checkBody refuses a body that {params} doesn't cover: one that isn't a form, or not entirely, unless its hash is in the
// (signed) query. If the hash is there it must match any body, so that none can replace the hashed one. modified means that it
// doesn't match.
func (c content) checkBody(r *Request) (modified bool, err error) {
	if !c.has("params") {
		return false, nil
	}
	if len(r.Header["content-type"]) > 1 { // it determines what is covered
		return false, denial.At(denial.AmbiguousHeader, partOf("content-type"))
	}
	switch declared := r.Query[c.bodyHash]; {
	case len(declared) > 0:
		want, err := hex.DecodeString(declared[0])
		got := sha256.Sum256(r.Body)
		if err == nil && len(want) == len(got) {
			return !slices.Equal(want, got[:]), nil
		}
	case len(r.Body) == 0:
		return false, nil
	case isForm(r) && isReadAsForm(r):
		if fields, err := url.ParseQuery(string(r.Body)); err == nil && len(fields) > 0 {
			return false, nil
		}
	}
	return false, denial.At(denial.UnsignedBody, "body")
}

// urls returns the forms of the request's URL that a sender may have signed, without repeats.
func (c content) urls(r *Request) []string {
	i := slices.IndexFunc(c.parts, func(part contentPart) bool { return part.variable == "url" })
	if i < 0 {
		return []string{""}
	}
	forms := urlform.Of(r.URL)
	if further := urlform.Further[c.parts[i].of]; further != nil {
		for _, form := range further(r.URL) {
			if !slices.Contains(forms, form) {
				forms = append(forms, form)
			}
		}
	}
	return forms
}

// listed returns the headers that another one lists, in order.
func listed(r *Request, by string) []string {
	names := strings.Split(strings.ToLower(url.Values(r.Header).Get(by)), ",")
	for i := range names {
		names[i] = strings.TrimSpace(names[i])
	}
	slices.Sort(names)
	return names
}

// withValues formats headers as Contentful does: "name:value;name:value".
func withValues(r *Request, names []string) string {
	pairs := make([]string, len(names))
	for i, name := range names {
		pairs[i] = name + ":" + strings.TrimSpace(url.Values(r.Header).Get(name))
	}
	return strings.Join(pairs, ";")
}

// isLine reports whether a part is a name and its value on separate lines.
func (p contentPart) isLine() bool { return p.variable == "line" || p.variable == "lines" }

// checkLines refuses values that make the signed text ambiguous. The text has no lengths, so a value with line breaks could
// contain further names and values: those of a message that the sender signed for another customer.
//   - A {line:PATH} has one line, and one of the template's values if it lists them.
//   - The first {lines:PATH} may contain anything: the lines after it are read from the end. The one that follows must exist,
//     or the text before it could contain it.
//   - A later {lines:PATH} with line breaks must not have a signed name on a line of its own.
func (c content) checkLines(places map[string]decode.Place) error {
	isBehindText := false
	for i, part := range c.parts {
		if !part.isLine() {
			continue
		}
		place := places[part.of]
		isBroken := strings.ContainsAny(place.Text, "\r\n")
		switch {
		case part.variable == "lines" && i == 0:
			isBehindText = true
			continue
		case part.variable == "lines" && isBroken && c.hasName(place.Text),
			part.variable == "line" && isBroken,
			len(part.allowed) > 0 && !slices.Contains(part.allowed, place.Text),
			isBehindText && !place.Found:
			return denial.At(denial.MalformedHeader, partOfBody(part.of))
		}
		isBehindText = false
	}
	return nil
}

// hasName reports whether one of the lines of a text is a signed name.
func (c content) hasName(text string) bool {
	for line := range strings.Lines(text) {
		if slices.Contains(c.places, strings.TrimRight(line, "\r\n")) {
			return true
		}
	}
	return false
}
