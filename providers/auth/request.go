package auth

import (
	"fmt"
	"maps"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"holdfast/providers/auth/denial"
	"holdfast/providers/auth/jws"
	"holdfast/providers/decode"
)

// Request is one HTTP request as the ingress has read it.
type Request struct {
	Method string
	// Path is the path as sent, without the query.
	Path string
	// PathParams are the values of the variables in the path's template, decoded (see Catalogue.ByPath).
	PathParams map[string]string
	Query      map[string][]string
	// Header has lower-case names.
	Header map[string][]string
	Body   []byte
	// RemoteIP is the peer's address, or the one reported by a trusted proxy.
	RemoteIP netip.Addr
	// FromProxy says that the peer is a trusted proxy.
	FromProxy bool
	// URL is the public one that the sender called, with its query; only schemes that sign it need it.
	URL string

	// passed is the scheme that has authenticated the request.
	passed scheme
	// queued marks a message of a queue, which no HTTP request is.
	queued bool
	// decoders read the body; nil for schemes without a definition.
	decoders *decode.Decoders
}

// as returns how the body is read, also by the decoders that make the event of it.
func (r *Request) as() (string, error) {
	contentType, err := r.header("content-type")
	if err != nil {
		return "", err
	}
	if r.decoders == nil {
		return decode.Plain.As(contentType, r.Body), nil
	}
	return r.decoders.As(contentType, r.Body), nil
}

// header returns the only value of a header. A missing header is "", and so is an empty one: both authenticate nothing.
func (r *Request) header(name string) (string, error) {
	switch values := r.Header[name]; len(values) {
	case 0:
		return "", nil
	case 1:
		return values[0], nil
	default:
		return "", denial.At(denial.AmbiguousHeader, partOf(name))
	}
}

// parameter returns the only value of a query parameter; "" if it is missing or empty.
func (r *Request) parameter(name string) (string, error) {
	if len(r.Query[name]) > 1 {
		return "", denial.At(denial.AmbiguousHeader, "query parameter "+name)
	}
	return url.Values(r.Query).Get(name), nil
}

// placesOf reads values of a body. A repeated value, or one that isn't text, makes the request malformed.
func placesOf(r *Request, paths ...string) (map[string]decode.Place, error) {
	as, err := r.as()
	if err != nil {
		return nil, err
	}
	found, err := decode.Places(as, r.Body, paths)
	if err != nil {
		return nil, denial.At(denial.MalformedHeader, partOfBody(strings.Join(paths, ", ")))
	}
	places := make(map[string]decode.Place, len(paths))
	for i, path := range paths {
		places[path] = found[i]
	}
	return places, nil
}

// textAt returns the text at a dotted path of the body; "" if there is none.
func (r *Request) textAt(path string) (string, error) {
	places, err := placesOf(r, path)
	return places[path].Text, err
}

// isReadAsForm reports whether the event is made of the form, and of no other reading of the same bytes.
func isReadAsForm(r *Request) bool {
	as, err := r.as()
	return err == nil && as == "form"
}

func isForm(r *Request) bool {
	return decode.MediaType(url.Values(r.Header).Get("content-type")) == decode.FormType
}

// sortedParams returns the distinct name-value pairs of the form, sorted. It is empty if the body isn't a form, which checkBody
// refuses.
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

// pathOf returns path and query as the sender has called them.
func pathOf(r *Request) string {
	_, rest, ok := strings.Cut(r.URL, "://")
	if i := strings.Index(rest, "/"); ok && i >= 0 {
		return rest[i:]
	}
	return r.Path
}

// payloadAt returns the token at a dotted path of the body, or the body itself if the path is ".".
func (r *Request) payloadAt(path string) (string, error) {
	if path == "." {
		return strings.TrimSpace(string(r.Body)), nil
	}
	return r.textAt(path)
}

// objectAt returns the object at a dotted path of the body, or the body itself if the path is ".". In place of the object there
// may be a token with it.
func (r *Request) objectAt(path string) (map[string]any, error) {
	if text, err := r.payloadAt(path); err == nil {
		if payload, err := jws.Payload(text); err == nil {
			inside := Request{Body: payload}
			return inside.objectAt(".")
		}
	}
	if as, err := r.as(); err != nil || as == "form" || as == "multipart" {
		return nil, denial.Of(denial.MalformedToken)
	}
	tree, err := decode.JSON(r.Body)
	if path != "." {
		for name := range strings.SplitSeq(path, ".") {
			fields, _ := tree.(map[string]any)
			tree = fields[name]
		}
	}
	fields, ok := tree.(map[string]any)
	if err != nil || !ok {
		return nil, denial.Of(denial.MalformedToken)
	}
	return fields, nil
}

// Covered returns what is authentic of the request in addition to its body: nothing, if no scheme has accepted it.
func (r *Request) Covered() Coverage {
	if r.passed == nil {
		return Coverage{}
	}
	return r.passed.covers()
}

// SetHeader replaces a header; the name must be in lower case.
func (r *Request) SetHeader(name, value string) {
	if r.Header == nil {
		r.Header = map[string][]string{}
	}
	r.Header[name] = []string{value}
}

func partOf(header string) string { return "header " + header }

func partOfBody(path string) string { return "field " + path + " of the body" }

// Coverage is what a scheme proves in addition to the body. Keys are made of nothing else.
type Coverage struct {
	// All means that the sender itself is authentic, and so is everything that it sends.
	All bool
	// URL means path and query.
	URL     bool
	Headers []string
	// Query lists query parameters.
	Query []string
	// Body lists the dotted paths covered by a signature over parts of the body, and those of objects followed by .*; nil means
	// all of it.
	Body []string
}

// both returns what is covered if either of two schemes may have admitted the request: the union for headers and URL, since
// keys are made of what the admitting one covers; the intersection for the body.
func (c Coverage) both(other Coverage) Coverage {
	out := Coverage{All: c.All || other.All, URL: c.URL || other.URL, Headers: append(slices.Clone(c.Headers), other.Headers...)}
	out.Query = append(slices.Clone(c.Query), other.Query...)
	switch {
	case c.Body == nil:
		out.Body = other.Body
	case other.Body == nil:
		out.Body = c.Body
	default:
		out.Body = []string{}
		for _, path := range c.Body {
			if slices.Contains(other.Body, path) {
				out.Body = append(out.Body, path)
			}
		}
	}
	return out
}

// UncoveredBody returns the paths within the body that aren't covered. Paths of a batch item have the prefix.
func (c Coverage) UncoveredBody(prefix string, paths [][]string) (what []string) {
	if c.Body == nil {
		return nil
	}
	for _, path := range paths {
		full := strings.TrimPrefix(prefix+"."+strings.Join(path, "."), ".")
		covers := func(covered string) bool {
			within, isObject := strings.CutSuffix(covered, "*")
			return full == covered || isObject && strings.HasPrefix(full, within)
		}
		if !slices.ContainsFunc(c.Body, covers) {
			what = append(what, fmt.Sprintf("%q of the body", full))
		}
	}
	return what
}

// Uncovered returns the headers, query parameters and path variables that aren't covered.
func (c Coverage) Uncovered(headers, query, path []string) (what []string) {
	if c.All {
		return nil
	}
	for _, name := range headers {
		if !slices.Contains(c.Headers, name) {
			what = append(what, fmt.Sprintf("the header %q", name))
		}
	}
	if c.URL {
		return what
	}
	unsigned := slices.DeleteFunc(slices.Clone(query), func(name string) bool { return slices.Contains(c.Query, name) })
	for _, name := range append(unsigned, path...) {
		what = append(what, fmt.Sprintf("%q of query or path", name))
	}
	return what
}
