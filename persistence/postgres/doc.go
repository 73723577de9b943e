// Package postgres is what every room of persistence stands on: a pool whose sessions are bounded, transactions in few round
// trips, texts and documents that PostgreSQL can hold, the statement of a page, and the one place where an error of the driver
// becomes an event.Error.
//
// It must never know a table, nor let a text of the driver out: messages and details of PostgreSQL quote values.
package postgres
