// Package load has the command that sends a signed event to any address.
//
// It must not depend on how an ingress receives: it sends what providers send.
package load
