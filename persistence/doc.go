// Package persistence keeps events, entities, dead letters and deliveries in PostgreSQL: each step of an event is
// one transaction, and every driver error is mapped once to an event.Error. A Store opens the pool; its fields are the stores of the
// packages below. Each package imports only those above it here:
//
//	postgres       the pool, transactions, errors, texts, pages: what all others stand on
//	records        how the row of an event is read, and the receipt of one that waits
//	audit          what operators did, and who is logged in to the console
//	errorlog       what failed, and which failures no notification has reported yet
//	operations     what redrives, rebuilds, resends and imports share: a table each, paused, resumed and canceled alike
//	changes        what happened, for whoever follows
//	outbox         deliveries that wait, are leased and settled, and that have ended
//	subscriptions  destinations and subscriptions, what an event matches, resends
//	entities       links, folds, checkpoints, states of any moment
//	names          which names of an entity stand for which
//	writer         the one writer of events
//	rebuilds       stored events that are read again
//	deadletters    dead letters, replays and redrives
//	imports        what is brought from another system, until it is applied
//	inbox          events that wait to be started
//	read           what is asked of events and entities
//	upkeep         retention and expunge
//	ledgers        what is stored, compared with what was sent
//
// A file is named after the table that it writes, or after what is done with it.
//
// Every method may run again, at any time and from several processes at once, without further effect; it must never
// know who calls it, nor that there is such a thing as a workflow engine or an HTTP request.
//
// The tests of all packages are here: they use the whole store from the outside, on a PostgreSQL that they share.
package persistence
