// Package desk is what an operator does about what goes out, the same from the command line and from the API: a destination is
// made with a secret where it needs one, a subscription is tried and checked, events of a time are sent again.
//
// It must never know where destinations and deliveries are stored, nor how an attempt is made.
package desk
