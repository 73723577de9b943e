// Package stored holds the commands about what an installation has taken: events, what they have made of entities, rebuilds,
// conflicts, and what waits in the inbox.
//
// It must never decide: what a change means stands in the domain, and holds for the API as well.
package stored
