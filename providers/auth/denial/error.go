package denial

import (
	"errors"
	"slices"
	"time"
)

// Error says why a request is not authentic. Its text is safe to log; the sender learns nothing of it. It holds nothing that the
// request holds: its words are those of the definition, and what it tells of the request is measured.
type Error struct {
	Reason Reason
	// Scheme is the one that came furthest, as Passed of the authenticator names it, and Part what of the request it looked at
	// ("header x-signature"). Both are "" where no scheme was tried.
	Scheme, Part string
	// Skew is how far the time that the request claims lies behind ours, negative if it is ahead; nil where it claims none.
	Skew *time.Duration
	// Tolerance is how far it may be away.
	Tolerance time.Duration
	// Found says what is the matter with a certificate.
	Found string
	// Fits says which other form of the body the signature is for, and Tried which forms it is not for: see Examine of the
	// authenticator.
	Fits  string
	Tried []string
	// SignsURL is set where the signature covers the URL as the sender has called it.
	SignsURL bool
}

// Reason is a short, stable name, fit for a metric label.
type Reason string

// The reasons, the most telling last: of several alternative schemes, the one that came furthest is reported.
const (
	NoSecret            Reason = "no_secret"
	PlaceholderSecret   Reason = "placeholder_secret"
	ShortSecret         Reason = "short_secret"
	UnusableSecret      Reason = "unusable_secret"
	Address             Reason = "address_not_allowed"
	MissingSignature    Reason = "missing_signature"
	MissingToken        Reason = "missing_token"
	MissingTimestamp    Reason = "missing_timestamp"
	MissingID           Reason = "missing_id"
	AmbiguousHeader     Reason = "ambiguous_header"
	MalformedHeader     Reason = "malformed_header"
	MalformedTimestamp  Reason = "malformed_timestamp"
	TooManySignatures   Reason = "too_many_signatures"
	MalformedToken      Reason = "malformed_token"
	UnsignedBody        Reason = "unsigned_body"
	MalformedSignature  Reason = "malformed_signature"
	OtherAccount        Reason = "other_account"
	ForeignCertificate  Reason = "foreign_certificate"
	NoCertificate       Reason = "no_certificate"
	WrongCertificate    Reason = "wrong_certificate"
	BadToken            Reason = "bad_token"
	BadSignature        Reason = "bad_signature"
	ModifiedBody        Reason = "modified_body"
	OtherURL            Reason = "other_url"
	WrongClaim          Reason = "wrong_claim"
	Expired             Reason = "expired_token"
	StaleTimestamp      Reason = "stale_timestamp"
	TimestampFromFuture Reason = "timestamp_in_future"
)

// byRank are the reasons in their order.
var byRank = []Reason{
	NoSecret, PlaceholderSecret, ShortSecret, UnusableSecret, Address, MissingSignature, MissingToken, MissingTimestamp, MissingID,
	AmbiguousHeader, MalformedHeader, MalformedTimestamp, TooManySignatures, MalformedToken, UnsignedBody, MalformedSignature,
	OtherAccount, ForeignCertificate, NoCertificate, WrongCertificate, BadToken, BadSignature, ModifiedBody, OtherURL, WrongClaim,
	Expired, StaleTimestamp, TimestampFromFuture,
}

// Reasons are all of them, the most telling last.
func Reasons() []Reason { return slices.Clone(byRank) }

// Further reports whether one error came further than another.
func Further(one, other error) bool {
	return slices.Index(byRank, ReasonOf(one)) > slices.Index(byRank, ReasonOf(other))
}

// Error is "not authentic: reason".
func (e *Error) Error() string { return "not authentic: " + string(e.Reason) }

// Of is the error of a reason.
func Of(r Reason) error { return &Error{Reason: r} }

// At is Of, and also says what of the request was looked at, in words of the definition.
func At(r Reason, part string) error { return &Error{Reason: r, Part: part} }

// ReasonOf is the reason of an *Error, and NoSecret of any other.
func ReasonOf(err error) Reason {
	var e *Error
	if errors.As(err, &e) {
		return e.Reason
	}
	return NoSecret
}
