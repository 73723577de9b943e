// Package reconcile compares what Temporal and PostgreSQL know of the same events. An event that only one of them has left gets a
// dead letter, with its bytes: it then waits where everything waits that operators and the schedule run again.
//
// The sweep does so every few minutes for runs that were ended from outside. `holdfast reconcile` does it for everything, once
// the two stores were restored to different moments.
//
// It must never know SQL, Temporal or how anything is shown.
package reconcile
