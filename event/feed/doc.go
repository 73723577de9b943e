// Package feed defines the ordered stream of changes to events, entities, dead letters and deliveries, and positions in it. Its
// hub shares one poller among many listeners.
//
//	transaction that changes an object ──▶ changes (a row)
//	                                         │  readable once no earlier transaction can still commit
//	           a page after a cursor ◀───────┼───▶ Hub ──▶ listeners, each with a bounded buffer
//
// A change names the object and the action, but has no content: clients read that from the API, which checks their permissions.
//
// The order is that of the transactions' first writes, not of their commits. For one entity, the revision decides: ignore a
// change with a lower revision than the known one.
//
// The package must not depend on where changes are stored or how they are sent.
package feed
