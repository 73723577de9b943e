package auth

import (
	"holdfast/providers/auth/denial"
	"net/netip"
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
	// URL is the public one that the sender called, with its query; only schemes that sign it need it.
	URL string

	// passed is the scheme that has authenticated the request.
	passed scheme
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
