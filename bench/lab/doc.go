// Package lab is the room in which benchmarks run: one private PostgreSQL that waits for the disk, one Temporal server on it,
// the product's own binary, and a meter that charges CPU time and memory to whoever used them.
//
// It knows how things are started and measured, and nothing of what is measured for.
package lab
