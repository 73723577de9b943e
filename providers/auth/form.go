package auth

import (
	"bytes"
	"holdfast/providers/auth/denial"
	"strings"
	"time"
)

// Examine looks closer at a request that was refused for its signature. If that is good for another form of the body, or for
// another URL, the request was changed on its way, or the URL is configured wrongly: the error then says so. Otherwise it says
// which forms were tried, since a wrong secret and a body that was changed in another way look alike. The refusal stands in
// either case, and no form of the body is kept.
//
// It verifies about twenty times. Who answers strangers bounds how often that happens, and for which size of body.
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

// isSigned says whether a signature is good, whatever its time.
func (a *Authenticator) isSigned(r *Request, now time.Time) bool {
	for _, s := range a.schemes {
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

// signs says whether a scheme covers the body.
func signs(s scheme) bool {
	switch s := s.(type) {
	case *hmacScheme, *publicKeyScheme:
		return true
	case *jwtScheme:
		return s.bodyHash != ""
	}
	return false
}

// form is another form of a request. change is false where it would be the same, or is not to be had.
type form struct {
	name   string
	reason denial.Reason
	change func(*Request) bool
}

// forms are what is known to happen to requests between a sender and us, and what is often configured wrongly.
var forms = append([]form{
	ofBody("the body without the white space around it", bytes.TrimSpace),
	ofBody("the body without its last line end", func(b []byte) []byte { return bytes.TrimSuffix(b, []byte("\n")) }),
	ofBody("the body with a line end behind it", func(b []byte) []byte { return append(bytes.Clone(b), '\n') }),
	ofBody("the body with line ends of LF", func(b []byte) []byte { return bytes.ReplaceAll(b, []byte("\r\n"), []byte("\n")) }),
	ofBody("the body with line ends of CRLF", func(b []byte) []byte {
		return bytes.ReplaceAll(bytes.ReplaceAll(b, []byte("\r\n"), []byte("\n")), []byte("\n"), []byte("\r\n"))
	}),
	ofBody("the body without its byte order mark", func(b []byte) []byte { return bytes.TrimPrefix(b, []byte("\xef\xbb\xbf")) }),
	{"the URL with the other of http and https", denial.OtherURL, swapProtocol},
	{"the URL as https at the host of the request", denial.OtherURL, func(r *Request) bool { return r.atOwnHost("https") }},
	{"the URL as http at the host of the request", denial.OtherURL, func(r *Request) bool { return r.atOwnHost("http") }},
}, jsonForms()...)

// jsonForms are the ways in which libraries write one JSON document: three layouts, in each of which what is not ASCII stands as
// it is or is escaped. The order of fields and the form of numbers are the body's own.
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
		{"compact JSON", compact}, {"JSON with a space behind each comma and colon", spaced}, {"JSON indented by two spaces", indented},
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

// ofBody is a form of the body; write gives nil where it has none.
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

// atOwnHost takes the host that the request itself names.
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
