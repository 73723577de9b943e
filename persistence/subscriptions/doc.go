// Package subscriptions stores where events go: destinations with their secrets and states, their subscriptions, and resends of
// past events. It matches events, and gives an attempt what it needs.
//
// It must not depend on when or how an attempt is made. It must not delay the writer of events, which uses it for two things: to
// match the subscriptions of an event, and to get the statements that insert its deliveries.
//
// # How an event gets its deliveries
//
//	before its transaction   routed with what this process has cached                             no query
//	look                     reads the version of the subscriptions, among other things           no round trip
//	if that has changed      what has changed is read, and the event routed again                 a round trip, once a change
//	write                    delivery_queue · failed deliveries · fan-outs · what is unmatched     no round trip
//	after the commit         a leased delivery is attempted; else dispatchers in this process are notified, others poll
//
// The delivery of a transaction that has only one is inserted leased, and skips the queue, if this process has a free slot and
// nothing stands against an attempt at once: the destination is healthy, below its limit and without a rate, and nothing else is
// due (package outbox). If the process dies after the commit, or the outcome of the commit is unknown, the delivery is made from
// the queue once the lease ends.
//
// A change that the API has confirmed counts for every event received after that, since the look comes later. A subscription that
// this version can't read gets nothing and is reported (Unreadable); one whose filter fails gets a failed delivery. Neither stops
// an event. Filters that take too long together are left to FinishMatching: the transaction stores which.
//
// Its lock order is part of package outbox's, and documented there.
package subscriptions
