// Package scale counts what the same work costs in a small arrangement and in a large one: processes, providers, destinations
// with a backlog, event types. It counts statements, pages, bytes, waits for locks and allocations, never time.
package scale
