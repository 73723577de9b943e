// Package event defines the core types of Holdfast: events, their identity and states, failure classes, and the ordered changes
// that events make to entities. Package fold applies those changes.
//
// It imports only the standard library, so that every other package can use it. It must not depend on how an event is received
// (ingress), orchestrated (workflows), parsed (providers) or stored (persistence).
package event
