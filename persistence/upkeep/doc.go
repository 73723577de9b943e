// Package upkeep removes what was kept for long enough (retention), and what must not be kept (expunge). It
// also keeps which files an archive has, and which of them may still hold what was expunged.
//
// A purge is a transaction of some hundred rows, and waits for nobody: what somebody works on is left for the next one. It
// removes no event that still waits for somebody, and no change that an entity may be folded from again. An expunge passes a
// verdict, by package writer: the event is as if it had never been, and its key stays.
//
// It must never know when it runs, or what a definition says of how long something is kept.
package upkeep
