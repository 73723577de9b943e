// Package dispatch works off what waits to be delivered: it leases deliveries that are due, attempts them, and settles what
// became of them.
//
//	wake, or look ──▶ lease (a batch of each destination that is ready) ──▶ attempt, in slots ──▶ settle (a batch)
//
// Rows alone decide. Any number of processes may dispatch beside each other; one that dies leaves leases that end by themselves.
// A delivery holds its slot until its outcome is settled, so that what is kept while the queue cannot be reached is bounded.
//
// It must know neither SQL nor how an attempt is made.
package dispatch
