// Package operate holds the commands that look at an installation as a whole, and those that keep it in order: health, doctor,
// statistics, reports, errors, audit, reconcile, purge, tokens, keys, configuration.
//
// It must never decide: what a change means stands in the domain, and holds for the API as well.
package operate
