// Package writer is the one writer of events: whatever stores an event, alone or in a group or in a batch, live, replayed,
// reset, edited or imported, takes the same way through one transaction, which folds entities by package entities. It also
// takes back what an event did, and keeps the verdicts that make it do nothing again.
//
// It must never know who calls it, what a definition says, or when something is tried again.
//
// # The way of a transaction
//
//	look    settings · event locks · claim keys · read rows, verdicts, old links · lock entities          one round trip
//	judge   processed, ignored, duplicate, conflict, or refused by a verdict                              no round trip
//	route   to the subscriptions that they match, by the version that the look has read                   only if one has changed
//	late    from a checkpoint before what is late: the changes after it, in pages                         only if one is
//	write   links · entities and checkpoints · events · dead letters resolved · deliveries · what is
//	        told of all this · inbox rows gone · commit                                                   one round trip
//
// A transaction that loses a race (a key or an entity came or went between look and write) begins anew. An event alone, a group
// of callers and a batch of the inbox differ in how they come here, and in how long they wait for locks.
//
// # The order of locks
//
// Everybody takes locks in one order, so that no two transactions wait for each other:
//
//	inbox rows ─▶ events (advisory, by hash) ─▶ keys ─▶ contents (advisory, by hash) ─▶ names of entities (advisory, by hash)
//	 ─▶ entities (bytewise) ─▶ deliveries
//
// What is told (package changes) locks nothing.
//
// Where an event has names the look takes one round trip more: what they stand for says which entities are to be locked. Who
// takes back what an event did, while a merge moves it, locks a second time; PostgreSQL ends what would then wait in a circle.
//
// What belongs to one event alone (its row, its links, its verdict, its dead letters) needs no place in it: who changes it
// together with anything else holds the event's lock.
//
// A lock and the read that it protects are two statements, since a statement sees what was committed before it began to wait. Of
// an entity only what a change needs is locked: as a whole where it may have to go, against changes where it changes, and against
// removal where it is only mentioned.
//
// # The ways of an event in a group
//
//	comes ─┬─ nobody writes ──▶ is written at once
//	       └─ gathers behind the group in flight ──▶ is written with the others ─┬─ all is well ──▶ done
//	                                                                             ├─ somebody holds what it needs ──▶ alone
//	                                                                             ├─ it is so late that its entities
//	                                                                             │  take 500 ms to fold ──▶ Persist, UpsertEntities
//	                                                                             └─ one is at fault ──▶ halves, each anew
//
// Nobody waits in company: with others a lock is waited for 50 ms, alone 500 ms, and only by a few at once. What still waits then
// goes on by Persist and UpsertEntities, which wait as long as the store allows.
//
// In a batch, which holds rows of the inbox, what fails, is locked by others or folds for too long leaves for the overflow lane,
// and the others stay.
package writer
