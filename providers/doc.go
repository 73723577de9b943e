// Package providers is the catalogue of the systems that send webhooks: one YAML definition each, compiled into a Provider that
// authenticates a request, splits it into events, gives each its idempotency key, and reads what an event means (type, time,
// entities, policy). It is built from these packages, each of which depends only on those above it:
//
//	definition   what a file may say, and where it is wrong
//	decode       bodies: JSON, forms, Ruby's notation, batches
//	jq           expressions with a budget
//	auth         requests, schemes, signatures, secrets
//	mapping      keys, times, entities and policies of a type of event
//	recovery     what is asked of a provider's API: its list of events, and the states behind thin events
//	receiving    requests: their paths, limits, handshakes and replies
//	reading      events: how a request is split into them, and what each one means
//	providers    the Provider, which joins the three, and the Catalogue
//
// Package internal/lint tries out a Provider before anything arrives.
//
// It works on bytes and values only. It must not depend on how a request arrives (Fiber), or how an event is orchestrated
// (Temporal) or stored (pgx), and it never reads the environment: the caller provides the secrets.
//
// No part of a request, and no secret, is ever in an error's text.
package providers
