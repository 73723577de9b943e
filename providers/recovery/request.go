package recovery

import (
	"net/url"
	"strconv"
	"time"

	"holdfast/providers/jq"
)

// Request is the HTTP request for a page.
type Request struct {
	Method string
	// URL has HTTPS, the definition's host and path, and no credential.
	URL string
	// Header has lower-case names, and credentials.
	Header map[string]string
	Body   []byte
	// User and Password are the credential of basic authentication; User is "" without it.
	User, Password string
	// AnySuccess means that every 2xx is a success, and that the answer isn't read.
	AnySuccess bool
	// MaxAnswer is the max size of the answer in bytes; 0 means the constant MaxAnswer.
	MaxAnswer int
	// Token is where a bearer token comes from; nil without OAuth.
	Token *Token
}

// Token is a request for a bearer token, with client credentials.
type Token struct{ URL, Client, Secret, Scope string }

// maxPost is the maximum length of the body of a request.
const maxPost = 64 << 10

// Request returns the request for a walk's next page. Secret returns the value of a variable; "" if it isn't set. The error is a
// *Error.
func (l *List) Request(w Walk, secret func(name string) string) (Request, error) {
	r := Request{Method: l.method(), Header: map[string]string{"accept": "application/json"}}
	host, err := l.access.hostOf(secret)
	if err != nil {
		return r, err
	}
	values := l.valuesOf(w)
	path, _ := l.path.fill(values, func(name, value string) string {
		if name == varTarget {
			return value
		}
		return url.PathEscape(value)
	})
	r.URL = "https://" + host + path
	if query := l.queryOf(w, values); query != "" {
		r.URL += "?" + query
	}
	if err := l.access.authorize(&r, host, w.Target, secret); err != nil {
		return r, err
	}
	err = l.addBody(&r, values)
	return r, err
}

func (l *List) method() string {
	if l.post != nil {
		return "POST"
	}
	return "GET"
}

// valuesOf returns the variables of a walk. The window is a second wider on both sides: some filters have whole seconds, and
// some exclude their bounds. What is outside is left out of the page.
func (l *List) valuesOf(w Walk) func(name string) string {
	return func(name string) string {
		switch name {
		case varFrom:
			return l.format(w.From.Add(-time.Second).Truncate(time.Second))
		case varTo:
			return l.format(w.To.Add(2*time.Second - 1).Truncate(time.Second))
		case varCursor:
			return w.Cursor
		case varTarget:
			return w.Target
		}
		return ""
	}
}

func (l *List) format(at time.Time) string {
	switch l.unit {
	case "unix_s":
		return strconv.FormatInt(at.Unix(), 10)
	case "unix_ms":
		return strconv.FormatInt(at.UnixMilli(), 10)
	}
	return at.UTC().Format(time.RFC3339)
}

func (l *List) queryOf(w Walk, values func(string) string) string {
	if w.Cursor != "" && l.next.replacesQuery() {
		return w.Cursor
	}
	query := url.Values{}
	for name, t := range l.query {
		if value, ok := t.fill(values, verbatim); ok {
			query.Set(name, value)
		}
	}
	return query.Encode()
}

func (l *List) addBody(r *Request, values func(string) string) error {
	if l.post == nil {
		return nil
	}
	in := jq.Input{Value: map[string]any{}}
	for _, name := range []string{varFrom, varTo, varCursor, varTarget} {
		in.Value[name] = nil
		if v := values(name); v != "" {
			in.Value[name] = v
		}
	}
	v, err := l.post.Once(in)
	if err == nil {
		r.Body, err = jq.Marshal(v, maxPost)
	}
	if err != nil {
		return Errorf(KindUnreadable, "%s", l.post.Failed(err).Error())
	}
	r.Header["content-type"] = "application/json"
	return nil
}
