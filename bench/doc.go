// Command bench starts servers and measures the product on them: `make bench`. Each phase is a file in package phases
// and compares the built binary with a program that ran on the same servers a moment before, so that a noisy machine
// affects both. It also reports CPU time by process, which noise affects least. Every phase ends with a check of the
// ledger: a run with a lost or duplicated event is an error rather than a result.
//
// It is a separate program and not part of the binary.
package main
