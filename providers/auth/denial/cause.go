package denial

import (
	"fmt"
	"strings"
	"time"
)

// Cause is what a reason means to an operator, and what to do next.
type Cause struct{ Means, Next string }

// causes has each reason. docs/refusals.md has the same rows.
var causes = map[Reason]Cause{
	NoSecret: {
		"no secret is configured for the provider, so nobody is authentic",
		"set the variable that the definition names, or the file behind it, to the secret that the sender shows",
	},
	PlaceholderSecret: {
		"the configured secret is one that everybody knows, such as that of an example",
		"put the secret that the sender shows in its place",
	},
	ShortSecret: {
		"the configured secret is so short that it can be guessed",
		"have the sender make one of 12 characters or more",
	},
	UnusableSecret: {
		"the configured secret is not in the form that the scheme needs, such as base64 behind its prefix",
		"copy the whole secret from the sender, with its prefix",
	},
	Address: {
		"the address of the sender is in none of the allowed networks",
		"compare it with the sender's published networks; behind a proxy set HOLDFAST_INGRESS_TRUSTED_PROXIES",
	},
	MissingSignature: {
		"the request has no signature",
		"turn signing on at the sender, and see that no proxy drops the header; or it is a stranger, who may be ignored",
	},
	MissingToken: {
		"the request has no token or password",
		"give the sender the token, and see that no proxy drops the header; or it is a stranger, who may be ignored",
	},
	MissingTimestamp: {
		"the request has a signature and not the time that it covers",
		"see that no proxy drops the header; a sender that signs without a time needs another definition",
	},
	MissingID: {
		"the request has a signature and not the message id that it covers",
		"see that no proxy drops the header; a sender that signs without an id needs another definition",
	},
	AmbiguousHeader: {
		"a header that may stand once stands twice",
		"see whether a proxy adds it a second time",
	},
	MalformedHeader: {
		"the header is there, and in another grammar than the definition has for it, or with signatures of another kind only",
		"compare what the sender documents with auth[].…signature of the definition; perhaps it is another provider's request",
	},
	MalformedTimestamp: {
		"the signed time is not a number of digits",
		"compare what the sender documents with auth[].…timestamp of the definition",
	},
	TooManySignatures: {
		"the header holds more than 10 signatures",
		"no rotation needs as many: see who sends it",
	},
	MalformedToken: {
		"the token is not in the form that the scheme has for it",
		"compare what the sender documents with the definition: Bearer or Basic, HS256, one value",
	},
	UnsignedBody: {
		"the body is neither a form nor hashed in the URL, so the signature would not cover it",
		"send a form, or the hash that the definition names under body_hash",
	},
	MalformedSignature: {
		"there is a signature, and its length or encoding is not that of the scheme",
		"compare algorithm and encoding (hex or base64) of the definition with what the sender documents",
	},
	OtherAccount: {
		"the request is of an account or topic that is not configured",
		"if it is yours, add it to the variable that the definition names; or it is a stranger's, who may be ignored",
	},
	ForeignCertificate: {
		"the request names a certificate at a place that the definition does not allow",
		"nothing, unless the sender documents a new place: then add it to auth[].certificate.hosts",
	},
	NoCertificate: {
		"the sender's certificate, or one above it, could not be fetched; the request is answered so that it is sent again",
		"see that the ingress reaches the sender's host by HTTPS, and the hosts of auth[].certificate.issuers by HTTP",
	},
	WrongCertificate: {
		"the certificate is not the sender's: it has another name, is not valid now, or leads to no trusted root",
		"see what was found; if the sender documents a new name, add it to auth[].certificate.names",
	},
	BadToken: {
		"the token or password is none of the configured ones",
		"copy it anew from where the sender has it; during a rotation configure both",
	},
	BadSignature: {
		"no configured secret gives this signature: the secret is wrong, or the body was changed on its way",
		"copy the secret of this very endpoint anew (each endpoint, and test mode, has its own); during a rotation configure both; " +
			"then see whether a proxy changes bodies",
	},
	ModifiedBody: {
		"the secret is right, and the body was changed on its way",
		"find the proxy, gateway or middleware that writes bodies anew, and have it pass the bytes as they come",
	},
	OtherURL: {
		"the secret is right, and the sender has called another URL than the one we take it for",
		"set HOLDFAST_INGRESS_PUBLIC_URL to how the sender calls this server",
	},
	WrongClaim: {
		"the token is signed with our secret, and is meant for somebody else",
		"compare the claims of the definition with those that the sender puts into the token",
	},
	Expired: {
		"the token has expired, or has no expiry",
		"compare both clocks; a request that was held up on its way is sent again by its sender",
	},
	StaleTimestamp: {
		"the signature is good, and the request was signed too long ago",
		"compare both clocks (holdfast doctor looks at ours); a proxy that holds requests back, or a replay, looks the same",
	},
	TimestampFromFuture: {
		"the signature is good, and the request was signed at a time that is still to come",
		"compare both clocks (holdfast doctor looks at ours)",
	},
}

// Cause is what the reason means, and the next step; empty for one that is none of ours.
func (r Reason) Cause() Cause { return causes[r] }

// Detail is what was found beside the reason, as a sentence without its end; "" where there is nothing.
func (e *Error) Detail() string {
	var parts []string
	if e.Part != "" {
		parts = append(parts, "looked at: "+e.Part)
	}
	if e.Found != "" {
		parts = append(parts, e.Found)
	}
	if e.Fits != "" {
		parts = append(parts, "the signature is good for "+e.Fits)
	}
	if e.Skew != nil {
		parts = append(parts, describeSkew(*e.Skew, e.Tolerance))
	}
	if len(e.Tried) > 0 {
		parts = append(parts, fmt.Sprintf("nor is it good for any of %d other forms of the request", len(e.Tried)))
	}
	if e.SignsURL && e.Reason == BadSignature {
		parts = append(parts, "the signature covers the URL as the sender has called it: see HOLDFAST_INGRESS_PUBLIC_URL")
	}
	return strings.Join(parts, "; ")
}

func describeSkew(skew, tolerance time.Duration) string {
	side := "behind"
	if skew < 0 {
		side = "ahead of"
	}
	return fmt.Sprintf("its time is %s %s ours, and %s are allowed", skew.Abs().Round(time.Second), side, tolerance)
}
