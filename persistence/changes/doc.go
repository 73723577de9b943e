// Package changes stores the change feed: see package feed. A row is written in the transaction whose change it reports, in the
// same batch of statements. It is read once no transaction that began to write earlier can still commit.
//
// It must not interpret the changes, nor block writers: no lock here is shared by two of them.
package changes
