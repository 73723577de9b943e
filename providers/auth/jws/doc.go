// Package jws reads JSON Web Signatures (RFC 7515) and the public keys that verify them (RFC 7517). It is pure: the caller says
// which algorithm counts and fetches the keys.
//
// A token never chooses how it is verified. Its algorithm must be the caller's, and so have the type and curve of the key; an
// address of keys in its header is ignored, certificates there count only if they lead to a root of the caller's, and a header
// that demands an extension (crit) is refused.
package jws
