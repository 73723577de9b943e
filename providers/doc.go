// Package providers is the catalogue of the systems that send webhooks: one YAML definition each, compiled into a
// Provider that authenticates a request, splits it into events, gives each its idempotency key, and reads what an event
// means (type, time, entities, policy). What it is made of lies in rooms of its own, each of which knows those above it here:
//
//	definition   what a file may say, and where it is wrong
//	decode       bodies: JSON, forms, Ruby's notation, batches
//	jq           expressions with a budget
//	auth         requests, schemes, signatures, secrets
//	mapping      keys, times, entities and policies of a type of event
//	providers    the Provider and the Catalogue
//	lint         what is tried out on a Provider before anything arrives
//
// It works on bytes and values only. It must never know how a request arrives (Fiber), how an event is orchestrated
// (Temporal) or stored (pgx), and it never reads the environment: secrets come from the function that the caller gives.
//
// Nothing that comes from a request, and no secret, is ever part of an error's text.
package providers
