// Package dispatcher serves the clients of an outbound dispatcher that Holdfast replaces: they publish events, read them by the
// publishers' IDs, and manage subscriptions, behind one base URL and with one token. The ingress serves the base URL and accepts
// published events after this package has checked them; this package serves everything else.
//
// It must never show or change events of another provider, or subscriptions that select such events.
package dispatcher
