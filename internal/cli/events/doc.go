// Package events has the commands for accepted events, the entities made of them, rebuilds, conflicts, and the inbox.
//
// It must not decide what a change means: the domain packages do, for the API as well.
package events
