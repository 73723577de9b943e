// Package persistence stores events, entities, dead letters and deliveries in PostgreSQL: each step of an event is one
// transaction, and every driver error is mapped once to an event.Error. A Store opens the pool; its fields are the stores of the
// packages below. Each package imports only those above it in this list:
//
//	postgres       the pool, transactions, errors, texts and pages that all others use
//	records        reads the row of an event, and the receipt of one in the inbox
//	audit          what operators did, and console sessions
//	errorlog       errors, and which failures no notification has reported yet
//	minutes        counts by the minute of refused requests and of mapped events
//	observed       which fields the events of a type have
//	bulk           what replays, rebuilds, resends, imports and recoveries share: a table each; pause, resume and cancel
//	changes        the change feed
//	outbox         deliveries: pending, leased, settled and ended
//	subscriptions  destinations and subscriptions, routing, resends
//	entities       links, folds, checkpoints, states at any point in time
//	names          which names of an entity stand for which
//	writer         the only writer of events
//	rebuilds       stored events that are parsed again
//	deadletters    dead letters, and their replays
//	imports        staged imports from another system
//	inbox          events that wait to be started
//	read           queries of events and entities
//	upkeep         retention and expunge
//
// A file is named after the table that it writes, or after its operation.
//
// Every method is idempotent and may run again at any time, also in several processes at once. No method may depend on its
// callers, nor on a workflow engine or HTTP requests.
//
// The tests of deadletters, inbox, outbox, read and subscriptions are next to them, with the helpers of persistencetest. Those
// of the other packages are here, as are those that check the plans and sizes of all statements. They use the whole store from
// the outside, on a shared PostgreSQL.
package persistence
