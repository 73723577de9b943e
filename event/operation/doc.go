// Package operation is the vocabulary of what operators start: redrives, rebuilds, imports, comparisons and
// sweeps, with their filters, plans, progress and states.
//
// It knows what an event is. It must never know how an operation is run (workflows, redrive), stored (persistence) or shown
// (operator).
package operation
