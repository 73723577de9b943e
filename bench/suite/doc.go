// Package suite runs the servers of a benchmark, sends loads, compares sides and reports figures. It must not know what its
// phases measure.
package suite
