// Package process is a running Holdfast: its roles, the servers and workers behind them, the reloading of definitions, and the
// order in which everything stops.
//
// A process starts with whatever is available. Roles that need a store wait for it; the ingress serves as soon as either store
// answers:
//
//	shared parts → operator side → workers and drain (in the background) → ingress → ready
//
// It stops in the opposite order, each part within its grace period. It must not depend on the command line: the caller passes
// the roles and the configuration.
package process
