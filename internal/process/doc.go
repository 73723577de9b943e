// Package process is a running Holdfast: the roles that it plays, the servers and workers behind them, the definitions that it
// reloads, and the order in which everything stops.
//
// A process starts whatever is up. Roles that need a store wait for it; the ingress serves as soon as either store answers:
//
//	shared parts → operator side → workers and drain (in the background) → ingress → ready
//
// It stops in the opposite order, each part within its grace. It must never know a command line: what to run, and with which
// configuration, is given.
package process
