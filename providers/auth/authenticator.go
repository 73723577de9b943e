package auth

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"holdfast/providers/auth/denial"
	"holdfast/providers/decode"
	"holdfast/providers/definition"
)

// Authenticator combines the alternative schemes that authenticate a provider's requests, and their secrets. It is immutable and
// safe for concurrent use.
type Authenticator struct {
	keyring
	schemes  []alternative
	paths    []Path
	decoders *decode.Decoders
}

// New compiles the alternatives. A scheme that names no secrets uses the secrets of the definition.
func New(p *definition.Problems, defs []definition.Scheme, secrets string, paths []Path) *Authenticator {
	schemes := newSchemes(p, defs, secrets)
	checkAccountPaths(p, schemes, paths)
	return &Authenticator{schemes: schemes, paths: paths}
}

// NewOne compiles a single scheme at a field of its own.
func NewOne(p *definition.Problems, field string, d definition.Scheme, paths []Path) *Authenticator {
	a := &Authenticator{paths: paths}
	if d.When != nil {
		p.Add(field+".when", "is for auth[]: a handshake has one scheme")
	}
	if s := newScheme(p, field, d, ""); s != nil {
		a.schemes = []alternative{{s, choice{}}}
	}
	return a
}

// WithSecrets returns a copy with secrets. Without secrets no request is authentic.
func (a *Authenticator) WithSecrets(s Secrets) *Authenticator {
	with := *a
	with.source = s
	return &with
}

// Reading returns a copy that reads bodies as the decoders do that make events of them. Without it their content type decides.
func (a *Authenticator) Reading(d *decode.Decoders) *Authenticator {
	with := *a
	with.decoders = d
	return &with
}

// WithCertificates returns a copy that fetches certificates with c. Without it no request is authentic by certificate.
func (a *Authenticator) WithCertificates(c Certificates) *Authenticator {
	with := *a
	with.certificates = c
	return &with
}

// AdmittingAny returns a copy that accepts any secret, including well-known and guessable ones. Use it to find what else is
// wrong with a request, never to admit one.
func (a *Authenticator) AdmittingAny() *Authenticator {
	with := *a
	with.placeholders = true
	return &with
}

// Authenticate returns nil if one of the definition's schemes accepts the request, and a *denial.Error otherwise. It fails
// closed: without a usable secret no request is authentic. It records in r which scheme has passed, for Covered.
func (a *Authenticator) Authenticate(r *Request, now time.Time) error {
	r.decoders = a.decoders
	chosen, err := a.chosen(r)
	if err != nil {
		return err
	}
	worst := denial.Of(denial.NoSecret)
	for n, i := range chosen {
		err := a.schemes[i].authenticate(a.keyring, r, now)
		if err == nil {
			r.passed = a.schemes[i].scheme
			return nil
		}
		if n == 0 || denial.Further(err, worst) {
			worst = a.withScheme(err, i)
		}
	}
	return worst
}

// withScheme adds the name of the scheme to the error.
func (a *Authenticator) withScheme(err error, i int) error {
	var e *denial.Error
	if errors.As(err, &e) {
		e.Scheme, e.SignsURL = a.nameOf(i), a.schemes[i].covers().URL
		if slices.Contains(hinted, e.Reason) {
			e.Hint = a.hint(a.schemes[i].reference())
		}
	}
	return err
}

// nameOf describes a scheme and the name of its secret, if it has one.
func (a *Authenticator) nameOf(i int) string {
	if a.schemes[i].reference() == "" {
		return a.schemes[i].name()
	}
	return fmt.Sprintf("auth[%d]: %s, with %s", i, a.schemes[i].name(), a.schemes[i].reference())
}

// Schemes describes the schemes in the order in which they are tried, without the value of a secret.
func (a *Authenticator) Schemes() []string {
	var all []string
	for _, s := range a.schemes {
		all = append(all, s.name())
	}
	return all
}

// Passed describes the scheme that has accepted a request, and its secret's name; "" if none has.
func (a *Authenticator) Passed(r *Request) string {
	i := slices.IndexFunc(a.schemes, func(one alternative) bool { return one.scheme == r.passed })
	if i < 0 {
		return ""
	}
	return a.nameOf(i)
}

// Coverage returns what at least one of the schemes covers.
func (a *Authenticator) Coverage() Coverage {
	var c Coverage
	for _, s := range a.schemes {
		c = c.both(s.covers())
	}
	return c
}

// Alternatives returns one authenticator for each scheme.
func (a *Authenticator) Alternatives() []*Authenticator {
	var all []*Authenticator
	for i := range a.schemes {
		one := *a
		one.schemes = a.schemes[i : i+1]
		all = append(all, &one)
	}
	return all
}

// Hidden returns the names of the headers, query parameters and path variables that carry a secret or a signature under one of
// the schemes.
func (a *Authenticator) Hidden() (headers, query, path []string) {
	for _, s := range a.schemes {
		h, q, p := s.hidden()
		headers, query, path = append(headers, h...), append(query, q...), append(path, p...)
	}
	return headers, query, path
}

// IDHeaders returns the names of the headers with the signed message ID, which the sender chooses.
func (a *Authenticator) IDHeaders() (names []string) {
	for _, s := range a.schemes {
		if one, ok := s.scheme.(interface{ messageIDHeader() string }); ok && one.messageIDHeader() != "" {
			names = append(names, one.messageIDHeader())
		}
	}
	return names
}
