// Package event is the vocabulary of Holdfast: what an event is, how it is identified, in which states it can be, how
// its failures are classed, and which changes events bring, in which order. How those fold into an entity stands in fold.
//
// It imports the standard library only, so that every other package can speak it. It must never know how an event is
// received (ingress), orchestrated (workflows), understood (providers) or stored (persistence).
package event
