// Package reconcile compares the events in Temporal and PostgreSQL. An event that only one of them has becomes a dead letter with
// its body, which can be replayed like any other.
//
// The sweep does this every few minutes for runs that were ended from outside. `holdfast reconcile` does it for all events after
// the two were restored to different times.
//
// It must not depend on SQL, Temporal or how results are shown.
package reconcile
