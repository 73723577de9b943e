// Package persistence keeps events, entities and dead letters in PostgreSQL: each step of an event one transaction,
// every driver error mapped once to an event.Error. A file is named after the table that it writes; its reads are in
// the …_queries file beside it.
//
// Every method may run again, at any time and from several processes at once, without further effect; it must never
// know who calls it, nor that there is such a thing as a workflow engine or an HTTP request.
package persistence
