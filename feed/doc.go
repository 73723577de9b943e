// Package feed is what happened to events, entities, dead letters and deliveries, for whoever follows it: the vocabulary, places
// in the feed, and a hub that lets many listen to what one poller reads.
//
//	the transaction that changes something ──▶ changes (a row)
//	                                             │  read once nothing before it can still commit
//	               a page after a cursor ◀───────┼───▶ Hub ──▶ listeners, each with a bounded buffer
//
// A change says what happened to what, and nothing of its content: who wants that asks the API for it, which knows what the
// caller may see.
//
// The order is that of transactions by their first write, which is not that of their commits. For one entity its revision
// decides: a change with a lower one than is known already is old.
//
// The package must know neither where changes are stored nor how they are sent.
package feed
