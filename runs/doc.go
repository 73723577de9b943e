// Package runs is every call that Holdfast makes to Temporal's client: it starts the workflow of an event, or finds the run that
// has it already, runs dead letters again, wakes operations, reads what has become of runs and queues, and deletes runs.
//
// It must never know where an event came from, HTTP, SQL, or what is done with an event that Temporal does not take.
package runs
