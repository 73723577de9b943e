// Package ingress is the public HTTP server: it receives a provider's requests, limits and authenticates them, gives each event
// its identity, has the intake commit the events, and answers.
//
// It answers 2xx only after the intake has committed. It must not depend on how an event is committed, read a store or call
// Temporal, and must not keep anything from an unauthenticated request.
package ingress
