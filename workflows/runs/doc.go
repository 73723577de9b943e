// Package runs contains the calls to Temporal's client: it starts workflows of events, replays dead letters, wakes operations,
// reads the state of runs and queues, and deletes runs.
//
// It must not depend on HTTP, SQL, where an event came from, or what happens to an event that Temporal rejects.
package runs
