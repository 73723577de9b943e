package denial

import (
	"fmt"
	"strings"
	"time"

	"holdfast/internal/word"
)

// Cause explains a reason to an operator, and what to do next.
type Cause struct{ Means, Next string }

// causes explains each reason, also in docs/refusal-causes.md.
var causes = map[Reason]Cause{
	NoSecret: {
		"no secret is configured for the provider, so no request is authentic",
		"set the variable that the definition names, or its file, to the secret that the sender shows",
	},
	OnlyQueued: {
		"the definition has no scheme under auth: its events come from queues only",
		"nothing; to accept HTTP requests as well, add a scheme under auth to the definition",
	},
	PlaceholderSecret: {
		"the configured secret is a well-known one, such as one from an example",
		"replace it with the secret that the sender shows",
	},
	ShortSecret: {
		"the configured secret is short enough to be guessed",
		"have the sender create one of 12 characters or more",
	},
	UnusableSecret: {
		"the configured secret doesn't have the format that the scheme needs, such as base64 after its prefix",
		"copy the whole secret from the sender, including its prefix",
	},
	Address: {
		"the sender's address is in none of the allowed networks",
		"compare it with the networks that the sender publishes; behind a proxy, set HOLDFAST_INGRESS_TRUSTED_PROXIES=10.0.0.0/8 " +
			"(the proxy's network)",
	},
	MissingSignature: {
		"the request has no signature",
		"turn signing on at the sender, and check that no proxy drops the header; ignore requests from strangers",
	},
	MissingToken: {
		"the request has no token or password",
		"give the sender the token, and check that no proxy drops the header; ignore requests from strangers",
	},
	MissingTimestamp: {
		"the request has a signature, but not the time that it covers",
		"check that no proxy drops the header; a sender that signs without a time needs another definition",
	},
	MissingID: {
		"the request has a signature, but not the message ID that it covers",
		"check that no proxy drops the header; a sender that signs without an ID needs another definition",
	},
	AmbiguousHeader: {
		"a header that may appear once appears twice",
		"check whether a proxy adds it again",
	},
	MalformedHeader: {
		"the signature header has another format than in the definition, or only signatures of another kind",
		"compare the sender's documentation with auth[].…signature of the definition; the request may be another provider's",
	},
	MalformedTimestamp: {
		"the signed time isn't a number",
		"compare the sender's documentation with auth[].…timestamp of the definition",
	},
	TooManySignatures: {
		"the header has more than 10 signatures",
		"find out who sends it: no rotation needs that many",
	},
	MalformedToken: {
		"the token doesn't have the format of the scheme",
		"compare the sender's documentation with the definition: Bearer or Basic, the algorithm, one value",
	},
	UnsignedBody: {
		"the body is neither a form nor hashed in the URL, so the signature wouldn't cover it",
		"send a form, or the hash that the definition names under body_hash",
	},
	MalformedSignature: {
		"the signature doesn't have the length or encoding of the scheme",
		"compare algorithm and encoding (hex or base64) in the definition with the sender's documentation",
	},
	OtherAccount: {
		"the request comes from an account or topic that isn't configured",
		"if it is yours, add it to the variable that the definition names; otherwise ignore it",
	},
	ForeignCertificate: {
		"the request names a certificate at a place that the definition doesn't allow",
		"nothing, unless the sender documents a new place: then add it to auth[].certificate.hosts",
	},
	NoCertificate: {
		"the sender's certificate, or one above it, couldn't be fetched; the response asks the sender to retry",
		"check that the ingress reaches the sender's host by HTTPS, and the hosts of auth[].certificate.issuers by HTTP",
	},
	WrongCertificate: {
		"the certificate isn't the sender's: it has another name, isn't valid now, or leads to no trusted root",
		"check what was found; if the sender documents a new name, add it to auth[].certificate.names",
	},
	BadToken: {
		"the token or password is none of the configured ones",
		"copy it from the sender again; during a rotation configure both",
	},
	BadSignature: {
		"no configured secret gives this signature: the secret is wrong, or the body was changed in transit",
		"copy the secret of this endpoint again (each endpoint, and test mode, has its own); during a rotation configure both; " +
			"then check whether a proxy changes bodies",
	},
	ModifiedBody: {
		"the secret is right, and the body was changed in transit",
		"find the proxy, gateway or middleware that rewrites bodies, and have it pass the bytes unchanged",
	},
	OtherURL: {
		"the secret is right, but the sender called another URL than the one that Holdfast assumes",
		"set HOLDFAST_INGRESS_PUBLIC_URL=https://hooks.example.com (the scheme and host that the sender calls)",
	},
	WrongClaim: {
		"the token is signed with our secret, but is meant for another recipient",
		"compare the claims in the definition with those in the sender's token",
	},
	Expired: {
		"the token has expired, or has no expiry",
		"compare both clocks; the sender retries a request that was delayed",
	},
	StaleTimestamp: {
		"the signature is valid, but the request was signed too long ago",
		"compare both clocks (holdfast doctor checks ours); a proxy that delays requests, or a replay, looks the same",
	},
	UnreadableSecret: {
		"the file of the secret has been empty, missing or unreadable for a minute, or since the start; the response asks the " +
			"sender to retry",
		"write the file again: the log line secret.unreadable names it; no restart is needed",
	},
	NoKeys: {
		"the sender's published keys couldn't be fetched yet, or lack the one that the token names; the response asks the sender to " +
			"retry",
		"nothing if it passes; otherwise check that the ingress reaches the host of auth[].jwt.keys by HTTPS",
	},
	TimestampFromFuture: {
		"the signature is valid, but the request was signed at a time in the future",
		"compare both clocks (holdfast doctor checks ours)",
	},
}

// Cause returns the explanation of the reason; empty for an unknown one.
func (r Reason) Cause() Cause { return causes[r] }

// Detail says what was checked and found, as a sentence without a full stop: "Checked header x-signature: timestamp OK (1s skew,
// 5m allowed), signature doesn't match". It is "" if nothing was checked.
func (e *Error) Detail() string {
	var found []string
	if e.Skew != nil {
		found = append(found, e.describeTimestamp())
	}
	if e.Found != "" {
		found = append(found, e.Found)
	}
	switch {
	case e.Fits != "":
		found = append(found, "signature matches "+e.Fits)
	case len(e.Tried) > 0:
		found = append(found, fmt.Sprintf("signature matches neither the request nor any of %d variations", len(e.Tried)))
	case e.Reason == BadSignature:
		found = append(found, "signature doesn't match")
	}
	if e.SignsURL && e.Reason == BadSignature {
		found = append(found, "the signature covers the URL that the sender called: HOLDFAST_INGRESS_PUBLIC_URL must be its "+
			"scheme and host, such as https://hooks.example.com")
	}
	if e.Hint != "" {
		found = append(found, e.Hint)
	}
	detail := strings.Join(found, ", ")
	if e.Part == "" {
		return detail
	}
	return strings.TrimSuffix("Checked "+e.Part+": "+detail, ": ")
}

func (e *Error) describeTimestamp() string {
	amount, allowed := word.Duration(e.Skew.Abs().Round(time.Second)), word.Duration(e.Tolerance)
	switch {
	case *e.Skew > e.Tolerance || e.Reason == Expired:
		return fmt.Sprintf("timestamp too old (%s behind, %s allowed)", amount, allowed)
	case -*e.Skew > e.Tolerance:
		return fmt.Sprintf("timestamp in the future (%s ahead, %s allowed)", amount, allowed)
	default:
		return fmt.Sprintf("timestamp OK (%s skew, %s allowed)", amount, allowed)
	}
}
