// Package dispatch leases due deliveries, attempts them, and settles the results.
//
//	wake or poll ──▶ lease (a batch of each ready destination) ─┬─▶ attempt, in slots ──▶ settle (a batch)
//	event commits with a leased delivery ──▶ reserved slot ─────┘
//
// All state is in the database. Any number of processes may dispatch concurrently; the leases of a process that dies expire. A
// delivery keeps its slot until its result is settled, which bounds the memory used while the queue is unreachable.
//
// The package must not depend on SQL or on how an attempt is made.
package dispatch
