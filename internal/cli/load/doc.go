// Package load has the commands that send one or many events to any address, and check the results.
//
// It must not depend on how an ingress receives: it sends what providers send.
package load
