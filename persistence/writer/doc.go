// Package writer is the only code that writes events. Single, grouped and batched events, whether live, replayed, reset, edited
// or imported, all go through one transaction, which folds entities with package entities.
//
// It must not depend on its callers, the content of definitions, or the retry schedule.
//
// # The steps of a transaction
//
//	read    settings · event locks · claim keys · read rows, decisions, old links · lock entities         one round trip
//	decide  processed, ignored, duplicate, conflict, or refused by a decision                             no round trip
//	route   match subscriptions, as of the version that was read before                                   only if one has changed
//	refold  fold from a checkpoint before the first out-of-order change, in pages                         only if there is one
//	write   links · entities and checkpoints · events · dead letters resolved · deliveries ·
//	        change events · inbox rows removed · commit                                                   one round trip
//
// A transaction that loses a race (a key or an entity was added or removed between read and write) starts again. Single events,
// groups of callers and batches of the inbox differ in how they get here, and in their lock timeouts.
//
// An event with more changes than a page holds is stored first. Then it folds a page of them in each transaction, until the last
// one finishes it (page.go). A batch leaves such events to their own workflows. Imports, rebuilds and undoing write them at
// once.
//
// # Lock order
//
// All transactions lock in one order, so that they can't deadlock:
//
//	inbox rows ─▶ events (advisory, by hash) ─▶ keys ─▶ contents (advisory, by hash) ─▶ names of entities (advisory, by hash)
//	 ─▶ entities (bytewise) ─▶ the destination of a single delivery (skipped if it is locked) ─▶ deliveries
//
// Writing change events (package changes) locks nothing.
//
// If an event has names, the read step takes one more round trip: resolving the names decides which entities to lock. Undoing
// an event while a merge moves its links takes locks twice; PostgreSQL breaks the deadlock that this can cause.
//
// Data of a single event (its row, links, decision and dead letters) has no place in this order: transactions that change it
// together with anything else hold the event's lock.
//
// A lock and the read that it protects are two statements, since a statement sees only what was committed before it began to
// wait. Entities are locked only as far as the change needs: completely if they may be removed, against changes if they change,
// and against removal if they are only mentioned.
//
// # How an event passes through a group
//
//	arrives ─┬─ no write in flight ──▶ is written at once
//	         └─ joins the group behind the write in flight ──▶ written with the others ─┬─ success ──▶ done
//	                                                                                    ├─ a lock is taken ──▶ alone
//	                                                                                    ├─ so far out of order that its
//	                                                                                    │  entities take 500 ms to fold
//	                                                                                    │  ──▶ RowOnly, EntitiesOnly
//	                                                                                    └─ one event fails ──▶ halves
//
// A grouped write waits at most 50 ms for a lock; a write on its own, 500 ms, and only a few do so at once. Events that are still
// blocked then get their row only, and their entities in the upsert step. Both wait as long as the store allows.
//
// In a batch, which holds rows of the inbox, events that fail, are blocked or fold too slowly leave for the overflow lane, and
// the others stay.
package writer
