package auth

import (
	"crypto/sha256"
	"encoding/hex"
	"net/url"
	"slices"
	"strings"
	"time"
)

// Sign adds to r what makes it authentic with this secret, by the first of the definition's schemes that can use it: the
// headers of a signature, or a token in its place. A token in the path or the query, and the hash of a body that only the
// URL covers, also change r.Path, r.Query and r.URL. The error is an *Error if no scheme can.
func (a *Authenticator) Sign(r *Request, secret string, now time.Time) error {
	err := deny(ReasonNoSecret)
	for _, s := range a.schemes {
		if err = a.signWith(s, r, secret, now); err == nil {
			return nil
		}
	}
	return err
}

// SignWithSecrets is Sign with the provider's own secrets: each scheme is tried with those that it names. A definition that
// accepts addresses needs nothing added. A placeholder is taken, too: it is up to the receiver to refuse it.
func (a *Authenticator) SignWithSecrets(r *Request, now time.Time) error {
	err := deny(ReasonNoSecret)
	for _, s := range a.schemes {
		if s, ok := s.(*addressScheme); ok && len(s.networks(a.keyring)) > 0 {
			return nil
		}
		for _, secret := range a.raw(s.reference()) {
			if err = a.signWith(s, r, secret, now); err == nil {
				return nil
			}
		}
	}
	return err
}

func (a *Authenticator) signWith(s scheme, r *Request, secret string, now time.Time) error {
	if err := s.sign(r, secret, now); err != nil {
		return err
	}
	if token, ok := s.(*tokenScheme); ok && token.in == "path" {
		r.setPath(a.pathWith(r.Path, token.field, r.PathParams))
	}
	return nil
}

// hasPath reports whether the path is one of the provider's.
func (a *Authenticator) hasPath(requestPath string) bool {
	segments := strings.Split(strings.Trim(requestPath, "/"), "/")
	return slices.ContainsFunc(a.paths, func(one Path) bool {
		_, ok := one.Match(segments)
		return ok
	})
}

// pathWith fills the first path that has the variable; others without a value get their own name. A path that is none of the
// provider's, at another system, gets the token as its last segment.
func (a *Authenticator) pathWith(requestPath, variable string, params map[string]string) string {
	if requestPath != "" && !a.hasPath(requestPath) {
		return strings.TrimSuffix(requestPath, "/") + "/" + url.PathEscape(params[variable])
	}
	for _, candidate := range a.paths {
		found := false
		segments := make([]string, len(candidate.segments))
		for i, s := range candidate.segments {
			name, isVariable := variableOf(s)
			found = found || isVariable && name == variable
			switch value := params[name]; {
			case !isVariable:
				segments[i] = s
			case value == "":
				segments[i] = name
			default:
				segments[i] = url.PathEscape(value)
			}
		}
		if found {
			return "/" + strings.Join(segments, "/")
		}
	}
	return a.paths[0].Template
}

// setPath changes the path, and the URL with it.
func (r *Request) setPath(path string) {
	r.Path = path
	if u, err := url.Parse(r.URL); err == nil && r.URL != "" {
		u.RawPath = path
		u.Path, _ = url.PathUnescape(path)
		r.URL = u.String()
	}
}

// setQuery changes a parameter of the query, and the URL with it.
func (r *Request) setQuery(name, value string) {
	if r.Query == nil {
		r.Query = map[string][]string{}
	}
	r.Query[name] = []string{value}
	if u, err := url.Parse(r.URL); err == nil && r.URL != "" {
		query := u.Query()
		query.Set(name, value)
		u.RawQuery = query.Encode()
		r.URL = u.String()
	}
}

// declareBody puts the hash of a body that {params} leaves out into the query, which the URL covers.
func (c content) declareBody(r *Request) {
	if c.bodyHash == "" || len(r.Body) == 0 || isForm(r) {
		return
	}
	sum := sha256.Sum256(r.Body)
	r.setQuery(c.bodyHash, hex.EncodeToString(sum[:]))
}
