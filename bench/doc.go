// Command bench measures the product on servers of its own: `make bench`. Each phase is a file phase_….go and compares the
// built binary with something that ran on the same servers a moment before, so that a noisy machine disturbs both; the CPU
// time by process stands beside, which noise disturbs least. Every phase ends with the check of the ledger: a run in which
// an event was lost, or stored twice, is no result but an error.
//
// It is a program of its own and no part of the binary.
package main
