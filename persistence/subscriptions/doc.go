// Package subscriptions keeps where events go: destinations with their secrets and states, the subscriptions to them, and resends
// of events that are past. It finds what an event matches, and tells an attempt what it needs to know.
//
// It must never know when an attempt is made, or how. What it may not hold up is the writer of events, which asks it for two
// things: the subscriptions that an event matches, and a statement that inserts its deliveries.
//
// # How an event gets its deliveries
//
//	before its transaction   routed by what this process knows                                    no query
//	look                     the version of the subscriptions, among all else that is read        no round trip
//	if that is another one   what has changed is read, and the event routed again                 a round trip, once a change
//	write                    delivery_queue · what failed · what is to be fanned out              no round trip
//	after the commit         whoever dispatches is told; who was not finds it by looking
//
// What the API has confirmed counts for every event that is received after that, since the look comes later. A subscription that
// this version cannot read gets nothing and is named (Unreadable); one whose filter fails has a delivery that has failed. Neither
// stops an event.
//
// The order of its locks is one with that of package outbox, and drawn there.
package subscriptions
