package writer

import (
	"context"
	"slices"

	"github.com/jackc/pgx/v5"

	"holdfast/event"
	"holdfast/event/operation"
	"holdfast/persistence/decisions"
	"holdfast/persistence/keys"
	"holdfast/persistence/postgres"
)

// An event that was accepted under one definition and is parsed with another one has two keys: the ingress of a process with the
// earlier definition still uses the former. The transaction claims both. It compares the event under the key of the current
// definition, as if it had arrived with it, at the time when it was received.

const (
	// dropUnfinished removes the row of an event that another one makes redundant. Its dead letter keeps the body.
	dropUnfinished = `DELETE FROM events WHERE id = ANY ($1::uuid[]) AND status <> 'processed'`
)

// identify gives the event the identity that its parse step has found.
func (w *eventWrite) identify() {
	if w.parsed.Identity == nil {
		return
	}
	accepted := w.receipt
	w.receipt, w.isCorrected = accepted.IdentifiedAs(*w.parsed.Identity), true
	if w.receipt.Key != accepted.Key {
		w.former = &accepted
	}
}

// accepted returns the receipt of the ingress.
func (w *eventWrite) accepted() event.Receipt {
	if w.former != nil {
		return *w.former
	}
	return w.receipt
}

// owned returns the receipt with the key that the row shows: the current definition's key, unless another event has it.
func (w *eventWrite) owned() event.Receipt {
	if w.former != nil && w.current.owner != w.receipt.ID {
		return *w.former
	}
	return w.receipt
}

// keys returns the keys that the event claims. A conflict that an operator accepts also owns the key of further deliveries.
func (w *eventWrite) keys() (all []event.Receipt) {
	all = []event.Receipt{w.receipt}
	if w.former == nil {
		return all
	}
	all = append(all, *w.former)
	if w.receipt.ConflictsWith != "" && w.receipt.Fingerprint != "" {
		all = append(all, w.receipt.WithConflictKey(w.receipt.ConflictsWith))
	}
	return all
}

// key must be unique in a transaction.
type key struct{ provider, key string }

func (w *eventWrite) claims() []key {
	return postgres.Column(w.keys(), func(r event.Receipt) key { return key{postgres.Clean(r.Provider), postgres.Clean(r.Key)} })
}

// keysOf returns the keys of events in the order in which all transactions claim keys.
func keysOf(ws []*eventWrite) (all []event.Receipt) {
	for _, w := range ws {
		all = append(all, w.keys()...)
	}
	keys.Sort(all)
	return all
}

// ownsBoth is owns for an event with two keys. A processed event stays processed. An event that an operator may accept as a
// conflict isn't a duplicate.
func (w *eventWrite) ownsBoth() bool {
	c := w.current
	switch {
	case c.status == event.StatusProcessed:
		return true
	case w.repeatsFormer() || w.repeatsApart():
		return false
	case c.owner == w.receipt.ID || w.replacesOwner():
		return true
	case c.owner == "":
		return c.status != ""
	case w.receipt.BeforeWindowOf(*c.ownerReceived):
		return true
	}
	return w.receipt.ConflictsWith != "" &&
		(w.receipt.Replaces != "" || w.receipt.ConflictWith(c.owner, c.ownerFingerprint) != nil)
}

// repeatsFormer reports whether the event repeats the owner of its former key. One that was stored, or has a dead letter, has
// been compared under that key before. Where the contents differ, the former definition may have given two events one key.
func (w *eventWrite) repeatsFormer() bool {
	c := w.byFormerKey
	return w.former != nil && w.former.Replaces == "" && w.current.status == "" && !w.current.isDead && w.isAnother(c) &&
		!w.former.BeforeWindowOf(*c.ownerReceived) && w.former.ConflictWith(c.owner, c.ownerFingerprint) == nil
}

// formerKey returns the key under which other deliveries of the event were accepted.
func (w *eventWrite) formerKey() string {
	if w.former.Replaces != "" {
		return event.UnrevisedKey(w.former.Key)
	}
	return w.former.Key
}

// replacesOwner reports whether the event is an edit of the one that owns the key, or of an edit of it.
func (w *eventWrite) replacesOwner() bool {
	return w.receipt.Replaces != "" && (w.current.owner == w.receipt.Replaces || w.current.owner == w.byFormerKey.owner)
}

// keyApart returns the key that a delivery of the event has if it conflicts with the owner of its key.
func (w *eventWrite) keyApart() string {
	if w.receipt.Fingerprint == "" {
		return ""
	}
	return w.receipt.WithConflictKey("").Key
}

// mayBeApart reports whether a redelivery of the event may have been kept as a conflict, since the key belonged to another one.
func (w *eventWrite) mayBeApart() bool {
	return w.former != nil || w.receipt.SplitFrom != "" && w.scope != event.EntitiesOnly
}

// repeatsApart reports whether a redelivery of the event was kept as a conflict: only one of the two is processed.
func (w *eventWrite) repeatsApart() bool {
	c := w.byKeyApart
	return w.mayBeApart() && w.current.status != event.StatusProcessed && w.isAnother(c) &&
		!w.receipt.BeforeWindowOf(*c.ownerReceived)
}

func (w *eventWrite) isAnother(c current) bool { return c.owner != "" && c.owner != w.receipt.ID }

// isCorrectedConflict reports whether another event owns the key of the current definition, and this one isn't its redelivery. An
// edited body is compared with no other, so it conflicts with each event that isn't decided.
func (w *eventWrite) isCorrectedConflict(c *event.Conflict) bool {
	if w.former == nil || w.imported != "" || w.receipt.ConflictsWith != "" || w.repeatsFormer() {
		return false
	}
	return c != nil || w.receipt.Replaces != ""
}

// decideRepeat sets the outcome of an event that repeats the owner of another key than its own.
func (w *eventWrite) decideRepeat(c current) {
	w.Written = event.Written{
		Outcome: event.OutcomeDuplicate, Owner: c.owner, OwnerStatus: c.ownerStatus,
		OwnerWaits: c.ownerWaits || c.ownerStatus == event.StatusPersisted && c.ownerWorkflow == postgres.Clean(w.run.WorkflowID),
	}
}

func correctedConflict(owner string) *event.Error {
	return &event.Error{
		Class: event.ClassConflict, Code: event.CodeCorrectedConflict,
		Text: "event " + owner + " has the ID that the current definition finds in this one, and other content: compare the two, " +
			"then replay this one to accept it, or discard it",
	}
}

// isRedundant reports whether the event has a row and turned out to be a duplicate. Some of its pages may be written.
func (w *eventWrite) isRedundant() bool {
	return w.former != nil && w.imported == "" && w.Outcome == event.OutcomeDuplicate && w.Conflict == nil && w.current.status != ""
}

// undoRedundant undoes what redundant events did to entities. If an event folds in this transaction, its entities are locked and
// its links are removed with the other links. If it doesn't, it is the only event of the transaction.
func (t *transaction) undoRedundant(ctx context.Context) error {
	for _, w := range t.events {
		if !w.isRedundant() || w.folds() {
			continue
		}
		if _, err := decisions.Undo(ctx, t.entities, t.Transaction, w.id()); err != nil {
			return err
		}
	}
	return nil
}

// queueIdentities settles the keys of events that were accepted under another definition, once the transaction has decided.
func (t *transaction) queueIdentities(b *pgx.Batch) {
	var passed, dropped, own, free []event.Receipt
	var owners, unfinished []string
	pass := func(owner string, rs ...event.Receipt) {
		passed, owners = append(passed, rs...), append(owners, slices.Repeat([]string{owner}, len(rs))...)
	}
	for _, w := range t.events {
		switch {
		case w.duplicateOf != "" && w.current.claimed:
			pass(w.duplicateOf, w.receipt)
		case w.restoresCorrected():
			free = append(free, w.receipt.IdentifiedAs(*w.parsed.Identity))
		case w.receipt.SplitFrom != "" && w.former == nil && w.repeatsApart():
			pass(w.Owner, w.keys()...)
		case !w.isCorrected, w.imported != "" && w.current.status != "":
		case w.former == nil:
			own = append(own, w.receipt)
		case w.Outcome == event.OutcomeDuplicate && w.Conflict == nil:
			if w.isRedundant() {
				unfinished = append(unfinished, w.id())
			}
			if w.isSameAsOwner() {
				pass(w.Owner, w.keys()...)
			} else {
				dropped = append(dropped, w.keys()...)
			}
		}
	}
	keys.Sort(free)
	keys.QueueFree(b, free)
	keys.QueueFingerprints(b, own)
	keys.QueuePass(b, passed, owners)
	keys.QueueDrop(b, dropped)
	if len(unfinished) > 0 {
		b.Queue(dropUnfinished, unfinished)
	}
}

// restoresCorrected reports whether an event is restored from an archive and has another key by the current definition.
func (w *eventWrite) restoresCorrected() bool {
	return w.isStored && w.imported == operation.ImportEvent && w.parsed.Identity != nil && w.owns()
}

// isSameAsOwner reports whether the event surely has the content of the owner of its keys, so that these are that event's, too.
func (w *eventWrite) isSameAsOwner() bool {
	return !w.repeatsFormer() || w.former.KeyFrom != event.KeyFromEvent || w.former.Fingerprint != ""
}
