// Package delivery defines destinations, subscriptions, deliveries and their attempts. It decides which subscriptions an event
// matches and builds the message to deliver.
//
// An event that is processed for the first time gets one delivery for each subscription that it matches:
//
//	(match) ──▶ pending ──lease──▶ processing ──success──▶ delivered
//	                               ▲    │  └──retries exhausted, or a final error──▶ failed (a dead letter of step deliver)
//	                         lease │    │ failure
//	                               │    ▼
//	                              retrying          pending, retrying ──by an operator──▶ canceled
//
// A delivery that can be attempted at once is processing from the start.
//
// A delivery that is open for longer than its destination's Keep fails without a dead letter.
//
// Events don't wait for their deliveries: an event is processed whether or not they succeed. Deliveries happen at least once. All
// attempts of a delivery carry the same ID, so that the destination can drop repeats.
//
// The package must not depend on how an attempt is made (see its subpackages) or where deliveries are stored.
package delivery
