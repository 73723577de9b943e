// Package delivery is the vocabulary of what goes out: destinations, subscriptions, deliveries and their attempts; which
// subscriptions an event matches; and the shape in which an event leaves.
//
// An event that is processed for the first time gets one delivery for each subscription that it matches:
//
//	(match) ──▶ pending ──lease──▶ processing ──success──▶ delivered
//	               ▲                  │  └──beyond the policy, or for good──▶ failed (a dead letter of step deliver)
//	               │                  ▼
//	               └─── due ──── retrying          pending, retrying ──by an operator──▶ canceled
//
// No receiver holds an event open: it is processed whether or not its deliveries succeed. A delivery is made at least once, each
// attempt under the same ID, so that the receiver can drop the second.
//
// The package must know neither how an attempt is made (packages below it do) nor where deliveries are stored.
package delivery
