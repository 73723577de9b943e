// Package postgres is the base of all packages of persistence: a pool with bounded sessions, transactions in few round trips,
// texts and documents that PostgreSQL can store, the statement of a page, and the only place where a driver error becomes an
// event.Error.
//
// It must not depend on a table, nor expose a text of the driver: messages and details of PostgreSQL quote values.
package postgres
