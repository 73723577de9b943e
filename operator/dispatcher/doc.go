// Package dispatcher serves the clients of an outbound dispatcher that Holdfast replaces: they publish, read events by the IDs that
// publishers gave them, and manage subscriptions, behind one base URL and with one token. The ingress has the base URL and takes what
// is published; this package checks it first, and answers everything else.
//
// It must never show or change what is not the dispatcher's: events of another provider, and subscriptions that select more.
package dispatcher
