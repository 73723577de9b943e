// Package lab runs the servers of benchmarks: a private PostgreSQL with durable commits, a Temporal server on it, and the
// product's binary. A meter attributes CPU time and memory to processes.
//
// It only starts and measures, and doesn't depend on the benchmarks.
package lab
