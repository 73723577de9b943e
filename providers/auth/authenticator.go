package auth

import (
	"fmt"
	"slices"
	"time"

	"holdfast/providers/definition"
)

// Authenticator has the ways to authenticate the requests of one provider, which are alternatives, and their secrets. It is
// immutable and safe for concurrent use.
type Authenticator struct {
	keyring
	schemes []scheme
	paths   []Path
}

// New compiles the alternatives. One that names no secrets takes those of the definition.
func New(p *definition.Problems, defs []definition.Scheme, secrets string, paths []Path) *Authenticator {
	return &Authenticator{schemes: newSchemes(p, defs, secrets), paths: paths}
}

// WithSecrets gives the same authenticator with secrets. Without them nobody is authentic.
func (a *Authenticator) WithSecrets(s Secrets) *Authenticator {
	with := *a
	with.source = s
	return &with
}

// Authenticate is nil if one of the definition's schemes accepts the request, and an *Error otherwise. It fails
// closed: without a usable secret nobody is authentic. It notes in r which scheme has passed, for Covered.
func (a *Authenticator) Authenticate(r *Request, now time.Time) error {
	worst := deny(ReasonNoSecret)
	for _, s := range a.schemes {
		err := s.authenticate(a.keyring, r, now)
		if err == nil {
			r.passed = s
			return nil
		}
		if further(err, worst) {
			worst = err
		}
	}
	return worst
}

// Schemes are the ways to authenticate, in the order in which they are tried, in words that name no secret's value.
func (a *Authenticator) Schemes() []string {
	var all []string
	for _, s := range a.schemes {
		all = append(all, s.name())
	}
	return all
}

// Passed says which scheme has accepted a request, and which secret it takes; "" if none has.
func (a *Authenticator) Passed(r *Request) string {
	i := slices.Index(a.schemes, r.passed)
	if i < 0 {
		return ""
	}
	return fmt.Sprintf("auth[%d]: %s, with %s", i, r.passed.name(), r.passed.reference())
}

// Coverage is what at least one of the schemes covers.
func (a *Authenticator) Coverage() Coverage {
	var c Coverage
	for _, s := range a.schemes {
		one := s.covers()
		c.All, c.URL, c.Headers = c.All || one.All, c.URL || one.URL, append(c.Headers, one.Headers...)
	}
	return c
}

// Alternatives are the schemes one by one.
func (a *Authenticator) Alternatives() []*Authenticator {
	var all []*Authenticator
	for i := range a.schemes {
		one := *a
		one.schemes = a.schemes[i : i+1]
		all = append(all, &one)
	}
	return all
}

// Hidden names the headers, query parameters and path variables that carry a secret or a signature under one of the schemes.
func (a *Authenticator) Hidden() (headers, query, path []string) {
	for _, s := range a.schemes {
		h, q, p := s.hidden()
		headers, query, path = append(headers, h...), append(query, q...), append(path, p...)
	}
	return headers, query, path
}
