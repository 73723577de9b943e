package providers

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// AuthError says why a request is not authentic. Its text is safe to log; the sender is told nothing of it.
type AuthError struct {
	Reason Reason
}

// Reason is a short, stable name, fit for a metric label.
type Reason string

// The reasons, the most telling last: of several alternative schemes, the one that came furthest is reported.
const (
	ReasonNoSecret            Reason = "no_secret"
	ReasonPlaceholderSecret   Reason = "placeholder_secret"
	ReasonShortSecret         Reason = "short_secret"
	ReasonUnusableSecret      Reason = "unusable_secret"
	ReasonAddress             Reason = "address_not_allowed"
	ReasonMissingSignature    Reason = "missing_signature"
	ReasonMissingToken        Reason = "missing_token"
	ReasonMissingTimestamp    Reason = "missing_timestamp"
	ReasonMissingID           Reason = "missing_id"
	ReasonAmbiguousHeader     Reason = "ambiguous_header"
	ReasonMalformedHeader     Reason = "malformed_header"
	ReasonMalformedTimestamp  Reason = "malformed_timestamp"
	ReasonTooManySignatures   Reason = "too_many_signatures"
	ReasonMalformedToken      Reason = "malformed_token"
	ReasonUnsignedBody        Reason = "unsigned_body"
	ReasonBadToken            Reason = "bad_token"
	ReasonBadSignature        Reason = "bad_signature"
	ReasonExpired             Reason = "expired_token"
	ReasonStaleTimestamp      Reason = "stale_timestamp"
	ReasonTimestampFromFuture Reason = "timestamp_in_future"
)

var ranks = func() map[Reason]int {
	m := map[Reason]int{}
	for i, r := range []Reason{
		ReasonNoSecret, ReasonPlaceholderSecret, ReasonShortSecret, ReasonUnusableSecret, ReasonAddress,
		ReasonMissingSignature, ReasonMissingToken,
		ReasonMissingTimestamp, ReasonMissingID, ReasonAmbiguousHeader, ReasonMalformedHeader,
		ReasonMalformedTimestamp, ReasonTooManySignatures, ReasonMalformedToken, ReasonUnsignedBody, ReasonBadToken,
		ReasonBadSignature, ReasonExpired, ReasonStaleTimestamp, ReasonTimestampFromFuture,
	} {
		m[r] = i
	}
	return m
}()

// Error is "not authentic: reason".
func (e *AuthError) Error() string { return "not authentic: " + string(e.Reason) }

func deny(r Reason) error { return &AuthError{Reason: r} }

func reasonOf(err error) Reason {
	var e *AuthError
	if errors.As(err, &e) {
		return e.Reason
	}
	return ReasonNoSecret
}

// scheme is one way to authenticate a request.
type scheme interface {
	// authenticate is nil if the request is authentic, and an *AuthError otherwise.
	authenticate(k keyring, r *Request, now time.Time) error
	// ready is nil if there is a secret with which a request could be authentic.
	ready(k keyring) error
	// reference names the secrets.
	reference() string
	// sign makes r authentic.
	sign(r *Request, secret string, now time.Time) error
	// covers says which parts of a request are authentic once the scheme has passed.
	covers() coverage
	// name says what the scheme is, in words that name no secret's value.
	name() string
	// hidden names the headers, query and path parameters with secrets or signatures, which no receipt keeps.
	hidden() (headers, query, path []string)
}

// Authenticator has the ways to authenticate the requests of one provider, which are alternatives, and the secrets for them. It is
// immutable and safe for concurrent use.
type Authenticator struct {
	keyring
	schemes []scheme
	paths   []path
}

// newAuthenticator compiles the alternatives. One that names no secrets takes those of the definition.
func (p *problems) newAuthenticator(defs []schemeDefinition, secrets string, paths []path) *Authenticator {
	return &Authenticator{schemes: p.newSchemes(defs, secrets), paths: paths}
}

// WithSecrets gives the same authenticator with secrets. Without them nobody is authentic.
func (a *Authenticator) WithSecrets(s Secrets) *Authenticator {
	with := *a
	with.source = s
	return &with
}

// Authenticate is nil if one of the definition's schemes accepts the request, and an *AuthError otherwise. It fails
// closed: without a usable secret nobody is authentic. It notes in r which scheme has passed, for Covered.
func (a *Authenticator) Authenticate(r *Request, now time.Time) error {
	worst := deny(ReasonNoSecret)
	for _, s := range a.schemes {
		err := s.authenticate(a.keyring, r, now)
		if err == nil {
			r.passed = s
			return nil
		}
		if ranks[reasonOf(err)] > ranks[reasonOf(worst)] {
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
func (a *Authenticator) Coverage() coverage {
	var c coverage
	for _, s := range a.schemes {
		one := s.covers()
		c.all, c.url, c.headers = c.all || one.all, c.url || one.url, append(c.headers, one.headers...)
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
