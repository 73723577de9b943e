package denial

import (
	"errors"
	"slices"
	"time"
)

// Error says why a request isn't authentic. Its text is safe to log and never sent to the sender. It has no part of the
// request: it quotes only the definition, and numbers that were measured.
type Error struct {
	Reason Reason
	// Scheme is the one that got furthest, as named by Passed of the authenticator, and Part what it checked of the request
	// ("header x-signature"). Both are "" if no scheme was tried.
	Scheme, Part string
	// Skew is how far the request's claimed time is behind ours, negative if ahead; nil if it claims none.
	Skew *time.Duration
	// Tolerance is the maximum skew.
	Tolerance time.Duration
	// Found describes the fault of a certificate.
	Found string
	// Fits names another form of the body for which the signature is valid, and Tried those for which it isn't: see Examine of
	// the authenticator.
	Fits  string
	Tried []string
	// Hint names what looks like a slip in the configured secret, without any part of it.
	Hint string
	// SignsURL is set if the signature covers the URL as the sender has called it.
	SignsURL bool
}

// Reason is a short, stable name, suitable as a metric label.
type Reason string

// The reasons, the most specific last: of several alternative schemes, the one that got furthest is reported. Keys that couldn't
// be fetched and an unreadable secret come last, since the request may be authentic by them.
const (
	NoSecret            Reason = "no_secret"
	OnlyQueued          Reason = "only_queued"
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
	NoKeys              Reason = "no_keys"
	UnreadableSecret    Reason = "secret_unreadable"
)

// byRank lists the reasons in order.
var byRank = []Reason{
	NoSecret, OnlyQueued, PlaceholderSecret, ShortSecret, UnusableSecret, Address, MissingSignature, MissingToken, MissingTimestamp,
	MissingID, AmbiguousHeader, MalformedHeader, MalformedTimestamp, TooManySignatures, MalformedToken, UnsignedBody,
	MalformedSignature, OtherAccount, ForeignCertificate, NoCertificate, WrongCertificate, BadToken, BadSignature, ModifiedBody,
	OtherURL, WrongClaim, Expired, StaleTimestamp, TimestampFromFuture, NoKeys, UnreadableSecret,
}

// Reasons returns all reasons, the most specific last.
func Reasons() []Reason { return slices.Clone(byRank) }

// Further reports whether one error got further than another.
func Further(one, other error) bool {
	return slices.Index(byRank, ReasonOf(one)) > slices.Index(byRank, ReasonOf(other))
}

// MayBeAuthentic reports whether the sender should send the request again: what would prove it can't be read at the moment.
func (e *Error) MayBeAuthentic() bool {
	return e.Reason == NoCertificate || e.Reason == NoKeys || e.Reason == UnreadableSecret
}

// Error returns "not authentic: reason".
func (e *Error) Error() string { return "not authentic: " + string(e.Reason) }

// Of returns the error for a reason.
func Of(r Reason) error { return &Error{Reason: r} }

// At is Of with the checked part of the request, in words of the definition.
func At(r Reason, part string) error { return &Error{Reason: r, Part: part} }

// ReasonOf returns the reason of an *Error, and NoSecret for any other error.
func ReasonOf(err error) Reason {
	var e *Error
	if errors.As(err, &e) {
		return e.Reason
	}
	return NoSecret
}
