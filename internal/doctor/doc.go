// Package doctor checks an installation from its own machine: database, Temporal, definitions, host. Each check returns a
// result, what was found, and what to do about it.
//
// It must not repair or print. It changes nothing except for one run without a worker, which it deletes.
package doctor
