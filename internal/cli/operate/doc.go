// Package operate holds the commands that show what an installation has done, and those that keep it in order: events, entities,
// inbox, errors, conflicts, audit, statistics, purge, tokens, health.
//
// It must never decide: what a change means stands in the domain, and holds for the API as well.
package operate
