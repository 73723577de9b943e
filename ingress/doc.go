// Package ingress is the public HTTP side: it receives a provider's request, limits and authenticates it, gives each event its
// identity, has the intake commit the events, and answers.
//
// It answers 2xx only after the intake has committed. It must never know how an event is committed, look into a store or speak to
// Temporal, and nothing that an unauthenticated request carries may be kept.
package ingress
