package auth

import (
	"errors"
	"slices"
	"time"
)

// Error says why a request is not authentic. Its text is safe to log; the sender learns nothing of it. It holds nothing that the
// request holds: its words are those of the definition, and what it tells of the request is measured.
type Error struct {
	Reason Reason
	// Scheme is the one that came furthest, as Passed names it, and Part what of the request it looked at ("header x-signature").
	// Both are "" where no scheme was tried.
	Scheme, Part string
	// Skew is how far the time that the request claims lies behind ours, negative if it is ahead; nil where it claims none.
	Skew *time.Duration
	// Tolerance is how far it may be away.
	Tolerance time.Duration
	// Fits says which other form of the body the signature is for, and Tried which forms it is not for: see Examine.
	Fits  string
	Tried []string
	// SignsURL is set where the signature covers the URL as the sender has called it.
	SignsURL bool
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
	ReasonMalformedSignature  Reason = "malformed_signature"
	ReasonOtherAccount        Reason = "other_account"
	ReasonForeignCertificate  Reason = "foreign_certificate"
	ReasonNoCertificate       Reason = "no_certificate"
	ReasonBadToken            Reason = "bad_token"
	ReasonBadSignature        Reason = "bad_signature"
	ReasonModifiedBody        Reason = "modified_body"
	ReasonOtherURL            Reason = "other_url"
	ReasonWrongClaim          Reason = "wrong_claim"
	ReasonExpired             Reason = "expired_token"
	ReasonStaleTimestamp      Reason = "stale_timestamp"
	ReasonTimestampFromFuture Reason = "timestamp_in_future"
)

// byRank are the reasons in their order.
var byRank = []Reason{
	ReasonNoSecret, ReasonPlaceholderSecret, ReasonShortSecret, ReasonUnusableSecret, ReasonAddress, ReasonMissingSignature,
	ReasonMissingToken, ReasonMissingTimestamp, ReasonMissingID, ReasonAmbiguousHeader, ReasonMalformedHeader,
	ReasonMalformedTimestamp, ReasonTooManySignatures, ReasonMalformedToken, ReasonUnsignedBody, ReasonMalformedSignature,
	ReasonOtherAccount, ReasonForeignCertificate, ReasonNoCertificate, ReasonBadToken, ReasonBadSignature, ReasonModifiedBody,
	ReasonOtherURL, ReasonWrongClaim, ReasonExpired, ReasonStaleTimestamp, ReasonTimestampFromFuture,
}

// Reasons are all of them, the most telling last.
func Reasons() []Reason { return slices.Clone(byRank) }

// further reports whether one error came further than another.
func further(one, other error) bool {
	return slices.Index(byRank, ReasonOf(one)) > slices.Index(byRank, ReasonOf(other))
}

// Error is "not authentic: reason".
func (e *Error) Error() string { return "not authentic: " + string(e.Reason) }

func deny(r Reason) error { return &Error{Reason: r} }

// denyAt also says what of the request was looked at, in words of the definition.
func denyAt(r Reason, part string) error { return &Error{Reason: r, Part: part} }

// ReasonOf is the reason of an *Error, and ReasonNoSecret of any other.
func ReasonOf(err error) Reason {
	var e *Error
	if errors.As(err, &e) {
		return e.Reason
	}
	return ReasonNoSecret
}

// partOf names a header.
func partOf(header string) string { return "header " + header }

// partOfBody names a place in the body.
func partOfBody(path string) string { return "field " + path + " of the body" }
