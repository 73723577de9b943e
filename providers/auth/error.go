package auth

import (
	"errors"
	"slices"
)

// Error says why a request is not authentic. Its text is safe to log; the sender learns nothing of it.
type Error struct {
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

// byRank are the reasons in their order.
var byRank = []Reason{
	ReasonNoSecret, ReasonPlaceholderSecret, ReasonShortSecret, ReasonUnusableSecret, ReasonAddress, ReasonMissingSignature,
	ReasonMissingToken, ReasonMissingTimestamp, ReasonMissingID, ReasonAmbiguousHeader, ReasonMalformedHeader,
	ReasonMalformedTimestamp, ReasonTooManySignatures, ReasonMalformedToken, ReasonUnsignedBody, ReasonBadToken,
	ReasonBadSignature, ReasonExpired, ReasonStaleTimestamp, ReasonTimestampFromFuture,
}

// further reports whether one error came further than another.
func further(one, other error) bool {
	return slices.Index(byRank, ReasonOf(one)) > slices.Index(byRank, ReasonOf(other))
}

// Error is "not authentic: reason".
func (e *Error) Error() string { return "not authentic: " + string(e.Reason) }

func deny(r Reason) error { return &Error{Reason: r} }

// ReasonOf is the reason of an *Error, and ReasonNoSecret of any other.
func ReasonOf(err error) Reason {
	var e *Error
	if errors.As(err, &e) {
		return e.Reason
	}
	return ReasonNoSecret
}
