// Package retention is the vocabulary of what is kept, for how long, and what is known of it once it has gone: to files of an
// archive, or for good.
//
// It knows what an event is. It must never know where rows and files are, nor remove any.
package retention
