// Package changes keeps what happened, for whoever follows it: see package feed. A row is written in the transaction that it
// tells of, by the same batch of statements, and is read once no transaction that began to write before it can still commit.
//
// It must never know what is told, nor hold a writer up: nothing here takes a lock that two of them share.
package changes
