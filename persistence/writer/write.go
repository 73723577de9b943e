package writer

import (
	"time"

	"github.com/jackc/pgx/v5/pgtype"

	"holdfast/event"
	"holdfast/event/operation"
	"holdfast/persistence/postgres"
	"holdfast/persistence/subscriptions"
)

// eventWrite is one event on its way through a transaction.
type eventWrite struct {
	receipt event.Receipt
	parsed  event.Parsed
	run     event.Run
	scope   event.Scope
	// isRebuild marks a write by a rebuild: it only rewrites processed events, and changes neither their dead letters nor their run.
	isRebuild bool
	// imported is the kind of imported record; "" for live events.
	imported operation.ImportRecord
	// isStored marks an event that an import restores from an archive, with its own ID.
	isStored bool
	// duplicateOf is the event that a restored dead letter turned out to repeat: it owns the key.
	duplicateOf string
	changes     []event.OrderedChange // in the definition's order; empty if nothing is folded
	row         eventRow              // unset for event.EntitiesOnly
	// waiting is the ctid of the event's row in the inbox, which the transaction has locked and removes: its body is the event's.
	// nil if there is none.
	waiting *string
	routed  subscriptions.Routed

	// isCorrected means that the receipt has the identity of the current definition. former is the receipt of the ingress, if that
	// has another key.
	isCorrected bool
	former      *event.Receipt
	// byFormerKey and byKeyApart describe the owners of two other keys: the former one (for an edited event, its original's), and
	// the one that the event has if it is kept as a conflict.
	byFormerKey, byKeyApart current

	current current
	page    page
	after   int32 // position up to which this writer has written the event; 0 in a new attempt
	content content
	event.Written
}

// current contains what the transaction reads about an event after it has locked it.
type current struct {
	status   event.Status          // "" if it has no row
	isDead   bool                  // it has an open dead letter
	links    []event.OrderedChange // from an earlier parse, or an earlier page
	places   []int32               // positions of the links
	decision *event.Decision       // nil if no operator decided about it

	owner            string // of its key; "" if there is none
	ownerFingerprint string
	ownerReceived    *time.Time
	ownerStatus      event.Status // "" if it has no row
	ownerWorkflow    string       // its workflow ID; "" if it has no row
	ownerWaits       bool         // it has an open dead letter
	claimed          bool         // this transaction claimed its key; imports only
	exists           bool         // it exists under another ID; imports only
}

// newWrite prepares everything that needs no database. An event that its definition ignores has no changes: it only gets a row.
func newWrite(r event.Receipt, body []byte, p event.Parsed, run event.Run, scope event.Scope) (w *eventWrite, err error) {
	var id pgtype.UUID
	if id.Scan(r.ID) != nil || !id.Valid {
		return nil, event.Rejectf("malformed_id", "the event's ID is no UUID")
	}
	r.ID = id.String() // formatted as the database returns it
	w = &eventWrite{receipt: r, parsed: p, run: run, scope: scope}
	if outcomeOf(p) == event.OutcomeIgnored {
		w.parsed.Changes = nil
		if scope == event.RowOnly {
			w.scope = event.WholeEvent
		}
	}
	if w.scope != event.EntitiesOnly {
		if w.row, err = newEventRow(r, body); err != nil {
			return nil, err
		}
	}
	if w.scope != event.RowOnly {
		err = w.setChanges()
	}
	return w, err
}

// newLive is newWrite for an event that a run processes. It has the identity that its parse step has found.
func newLive(r event.Receipt, body []byte, p event.Parsed, run event.Run, scope event.Scope) (*eventWrite, error) {
	w, err := newWrite(r, body, p, run, scope)
	if err == nil {
		w.identify()
	}
	return w, err
}

// setChanges sets the changes of the event as they are stored, each with its order. A state that PostgreSQL can't store because
// of its size is left out.
func (w *eventWrite) setChanges() error {
	w.changes = make([]event.OrderedChange, 0, len(w.parsed.Changes))
	for i, c := range w.parsed.Changes {
		if c.Kind == "" || c.ExternalID == "" || !postgres.IsClean(c.Kind) || !postgres.IsClean(c.ExternalID) {
			return event.Rejectf("malformed_entity_id", "change %d has no usable kind or id", i)
		}
		state, err := postgres.StateColumn(c)
		if event.CodeOf(err) == string(event.StateTooLarge) {
			w.omit(c, event.StateTooLarge)
			continue
		}
		if err != nil {
			return err
		}
		c.State = state
		w.changes = append(w.changes, event.OrderedChange{Order: event.OrderOf(w.receipt, w.parsed, c), Change: c})
	}
	return nil
}

// omit marks the event as one that leaves out an entity.
func (w *eventWrite) omit(c event.Change, why event.OmitReason) {
	w.parsed.Omitted = w.parsed.Omitted.Add(event.OmittedEntity{Kind: c.Kind, ExternalID: c.ExternalID, Reason: why})
}

func (w *eventWrite) refOf(c event.Change) event.EntityRef {
	return event.EntityRef{Provider: w.provider(), Kind: c.Kind, ExternalID: c.ExternalID}
}

func (w *eventWrite) provider() string { return postgres.Clean(w.receipt.Provider) }

// owns reports whether the event goes on. It does if it owns its key; if it has a row, because then it won the key earlier, and
// stays an event of its own even if another event has the key since its window passed; or if the owner was received at least a
// dedupe window later, while this one waited.
func (w *eventWrite) owns() bool {
	if w.Held != nil {
		return false
	}
	if w.imported != "" {
		return w.ownsImported()
	}
	if w.current.decision != nil || w.scope == event.EntitiesOnly && w.current.status == "" {
		return false
	}
	if w.isRebuild {
		return w.current.status == event.StatusProcessed
	}
	if w.former != nil {
		return w.ownsBoth()
	}
	if w.repeatsApart() {
		return false
	}
	return w.current.status != "" || w.current.owner == w.receipt.ID ||
		w.current.owner != "" && w.receipt.BeforeWindowOf(*w.current.ownerReceived)
}

// folds reports whether this transaction folds changes of the event.
func (w *eventWrite) folds() bool { return w.scope != event.RowOnly }

// finishes reports whether this is the event's last transaction.
func (w *eventWrite) finishes() bool { return w.folds() && !w.page.hasNext }

// relinks reports whether the event's links change: it has none yet, its earlier parse has different ones, or it is redundant and
// loses them.
func (w *eventWrite) relinks() bool {
	return (w.owns() || w.isRedundant()) && w.folds() && len(w.page.come)+len(w.page.gone) > 0
}

// decide sets the outcome that the event has once the transaction commits.
func (w *eventWrite) decide() error {
	w.Written = event.Written{}
	conflict := w.receipt.ConflictWith(w.current.owner, w.current.ownerFingerprint)
	switch {
	case w.current.decision != nil:
		w.Written = event.Written{Outcome: w.current.decision.Outcome, Decision: w.current.decision}
	case w.owns() && w.heldReason() != nil:
		w.Written = event.Written{Held: w.heldReason()}
	case w.owns() && w.finishes():
		w.Written = event.Written{Outcome: outcomeOf(w.parsed), PossibleDuplicateOf: w.repeats()}
	case w.owns() || w.isRebuild:
		w.Written = event.Written{PossibleDuplicateOf: w.repeats()}
	case w.scope == event.EntitiesOnly:
		return errNotPersisted
	case w.repeatsFormer():
		w.decideRepeat(w.byFormerKey)
	case w.repeatsApart():
		w.decideRepeat(w.byKeyApart)
	case w.current.owner == "" && !w.current.exists:
		return errKeyVanished
	case w.isCorrectedConflict(conflict):
		w.Written = event.Written{Held: correctedConflict(w.current.owner), Conflict: conflict}
	case w.imported == "" && w.receipt.IsConflict(conflict):
		w.Written = event.Written{Held: conflictWith(w.current.owner), Conflict: conflict}
	default:
		w.Written = event.Written{
			Outcome: event.OutcomeDuplicate, Owner: w.current.owner, OwnerStatus: w.current.ownerStatus,
			OwnerWaits: w.ownerWaits(), Conflict: conflict,
		}
	}
	return nil
}

// ownerWaits reports whether no run is processing the owner of the key: it has a dead letter, or it is unfinished and this is a
// run of its own workflow. Temporal has one open run of a workflow ID at a time, so the run that stored the owner is gone.
func (w *eventWrite) ownerWaits() bool {
	return w.current.ownerWaits ||
		w.current.ownerStatus == event.StatusPersisted && w.current.ownerWorkflow == postgres.Clean(w.run.WorkflowID)
}

var (
	// errNotPersisted reports that there is no row to finish: the database was set back to before Persist, or another event owns
	// the key.
	errNotPersisted = &event.Error{
		Class: event.ClassFailed, Code: event.CodeNotPersisted, Text: "the event has not been persisted",
	}
	// errKeyVanished reports that the key was purged after it refused the claim and before its owner was read.
	errKeyVanished = &event.Error{
		Class: event.ClassTransient, Code: "key_vanished", Text: "the idempotency key was purged while it was claimed",
	}
)
