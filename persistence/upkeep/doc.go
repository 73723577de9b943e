// Package upkeep removes data at the end of its retention, and expunges single events. It also records which files an archive
// has, and which of them may still contain expunged events.
//
// A purge is a transaction of some hundred rows that never waits for locks: locked rows are left for the next one. It removes no
// event that still needs processing or an operator, and no change that an entity may be folded from again. An expunge stores a
// decision with package writer: the event is removed as if it had never existed, and its key stays.
//
// The package must not depend on when it runs, nor on a definition's retention.
package upkeep
