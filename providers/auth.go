package providers

import (
	"errors"
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
	authenticate(p *Provider, r *Request, now time.Time) error
	// ready is nil if there is a secret with which a request could be authentic.
	ready(p *Provider) error
	// reference names the secrets.
	reference() string
	// sign makes r authentic.
	sign(r *Request, secret string, now time.Time) error
	// covers says which parts of a request are authentic once the scheme has passed.
	covers() coverage
	// hidden names the headers, query and path parameters with secrets or signatures, which no receipt keeps.
	hidden() (headers, query, path []string)
}

// Authenticate is nil if one of the definition's schemes accepts the request, and an *AuthError otherwise. It fails
// closed: without a usable secret nobody is authentic. It notes in r which scheme has passed, for Split.
func (p *Provider) Authenticate(r *Request, now time.Time) error {
	worst := deny(ReasonNoSecret)
	for _, s := range p.schemes {
		err := s.authenticate(p, r, now)
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
