// Package load holds the commands that send events, one or many, to any address, and check what became of them.
//
// It must never know how an ingress receives: it sends what providers send.
package load
