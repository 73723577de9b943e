package writer

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"

	"holdfast/event"
	"holdfast/event/feed"
	"holdfast/event/operation"
	"holdfast/persistence/changes"
	"holdfast/persistence/entities"
	"holdfast/persistence/postgres"
	"holdfast/persistence/subscriptions"
)

// scope is how much of an event a transaction writes.
type scope int

const (
	// wholeEvent claims its key, stores its row, folds its changes, and finishes it.
	wholeEvent scope = iota
	// rowOnly claims its key and stores its row. entitiesOnly does the rest.
	rowOnly
	// entitiesOnly folds the changes of an event that has its row, and finishes it.
	entitiesOnly
)

// write is one event on its way through a transaction.
type write struct {
	receipt event.Receipt
	parsed  event.Parsed
	run     event.Run
	scope   scope
	// isRebuild marks a write by a rebuild: it only rewrites processed events, and changes neither their dead letters nor their run.
	isRebuild bool
	// imported is the kind of imported record; "" for live events.
	imported operation.ImportRecord
	// isStored marks an event that an import restores from an archive, with its own ID.
	isStored bool
	// duplicateOf is the event that a restored dead letter turned out to repeat: it owns the key.
	duplicateOf string
	changes     []event.OrderedChange // in the definition's order; empty if nothing is folded
	row         eventRow              // unset for entitiesOnly
	routed      subscriptions.Routed

	// isCorrected means that the receipt has the identity of the current definition. former is the receipt of the ingress, if that
	// has another key.
	isCorrected bool
	former      *event.Receipt
	// formerFound and apart describe the owners of two other keys: the former one (for an edited event, its original's), and the
	// one that the event has if it is kept as a conflict.
	formerFound, apart found

	found   found
	page    page
	after   int32 // position up to which this writer has written the event; 0 in a new attempt
	content content
	event.Written
}

// found contains what the transaction reads about an event after it has locked it.
type found struct {
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
func newWrite(r event.Receipt, body []byte, p event.Parsed, run event.Run, scope scope) (w *write, err error) {
	var id pgtype.UUID
	if id.Scan(r.ID) != nil || !id.Valid {
		return nil, event.Rejectf("malformed_id", "the event's ID is no UUID")
	}
	r.ID = id.String() // formatted as the database returns it
	w = &write{receipt: r, parsed: p, run: run, scope: scope}
	if outcomeOf(p) == event.OutcomeIgnored {
		w.parsed.Changes = nil
		if scope == rowOnly {
			w.scope = wholeEvent
		}
	}
	if w.scope != entitiesOnly {
		if w.row, err = newEventRow(r, body); err != nil {
			return nil, err
		}
	}
	if w.scope != rowOnly {
		err = w.setChanges()
	}
	return w, err
}

// newLive is newWrite for an event that a run processes. It has the identity that its parse step has found.
func newLive(r event.Receipt, body []byte, p event.Parsed, run event.Run, scope scope) (*write, error) {
	w, err := newWrite(r, body, p, run, scope)
	if err == nil {
		w.identify()
	}
	return w, err
}

func (w *write) refOf(c event.Change) event.EntityRef {
	return event.EntityRef{Provider: w.provider(), Kind: c.Kind, ExternalID: c.ExternalID}
}

func (w *write) provider() string { return postgres.Clean(w.receipt.Provider) }

// owns reports whether the event goes on. It does if it owns its key; if it has a row, because then it won the key earlier, and
// stays an event of its own even if another event has the key since its window passed; or if the owner was received at least a
// dedupe window later, while this one waited.
func (w *write) owns() bool {
	if w.Held != nil {
		return false
	}
	if w.imported != "" {
		return w.ownsImported()
	}
	if w.found.decision != nil || w.scope == entitiesOnly && w.found.status == "" {
		return false
	}
	if w.isRebuild {
		return w.found.status == event.StatusProcessed
	}
	if w.former != nil {
		return w.ownsBoth()
	}
	if w.repeatsApart() {
		return false
	}
	return w.found.status != "" || w.found.owner == w.receipt.ID ||
		w.found.owner != "" && w.receipt.BeforeWindowOf(*w.found.ownerReceived)
}

// folds reports whether this transaction folds changes of the event.
func (w *write) folds() bool { return w.scope != rowOnly }

// finishes reports whether this is the event's last transaction.
func (w *write) finishes() bool { return w.folds() && !w.page.hasNext }

// relinks reports whether the event's links change: it has none yet, its earlier parse has different ones, or it is redundant and
// loses them.
func (w *write) relinks() bool {
	return (w.owns() || w.isRedundant()) && w.folds() && !w.page.isEmpty()
}

// timeouts is a lock timeout and a statement timeout. An empty value keeps the session's setting.
type timeouts struct{ lock, statement string }

var (
	// groupTimeouts keeps the members of a group from waiting long for each other's locks.
	groupTimeouts = timeouts{"50ms", "2s"}
	// alone is for an event written on its own. After these timeouts its entities are left to the upsert step, which waits as long
	// as the store allows.
	alone = timeouts{"500ms", "5s"}
	// storeTimeouts keeps the timeouts of Config.
	storeTimeouts = timeouts{}
)

// maxRaces is how often a transaction restarts because rows were added or removed between its reads and its writes.
const maxRaces = 3

type writing struct {
	*postgres.Transaction

	events []*write
	locked map[event.EntityRef]*entities.Life // existing ones, locked

	entities      *entities.Store
	subscriptions *subscriptions.Store
	naming        *naming // nil if no event has names
	head          int64   // version of the subscriptions
	clock         int64   // database time, in microseconds
	matches       []subscriptions.Match
	removed       []feed.Change // change events of merged entities
	isTrial       bool          // it is rolled back
	foldFor       time.Duration // bounds the time for folding out-of-order events; 0 means no bound
	pageSize      int           // how many changes of an event are written; 0 means all
}

// writeTogether writes events, no two with the same ID or key, in one transaction: all or none. Afterwards each has its Written.
func (s *Store) writeTogether(ctx context.Context, ws []*write, p timeouts, foldFor time.Duration) (err error) {
	for range maxRaces {
		if err = s.tryTogether(ctx, ws, p, foldFor); !isRace(err) {
			return err
		}
	}
	return err
}

func (s *Store) tryTogether(ctx context.Context, ws []*write, p timeouts, foldFor time.Duration) (err error) {
	t := &writing{
		events: ws, locked: map[event.EntityRef]*entities.Life{}, entities: s.entities, subscriptions: s.subscriptions,
		foldFor: foldFor, pageSize: s.pageSize,
	}
	b := &pgx.Batch{}
	queueSettings(b, p)
	t.queueReads(b)
	if t.Transaction, err = s.db.Begin(ctx, b); err != nil {
		return err
	}
	defer t.Rollback(ctx)
	return t.finish(ctx)
}

const setTransaction = `
SELECT set_config('lock_timeout', coalesce(nullif($1, ''), current_setting('lock_timeout')), true),
       set_config('statement_timeout', coalesce(nullif($2, ''), current_setting('statement_timeout')), true),
       ` + postgres.SettingsOfPlans

func queueSettings(b *pgx.Batch, p timeouts) { b.Queue(setTransaction, p.lock, p.statement) }

// finish folds, stores and routes the events that the transaction has looked at, queues what last adds, and commits.
func (t *writing) finish(ctx context.Context, last ...func(*pgx.Batch)) error {
	t.removed = nil
	t.compareContents()
	for _, w := range t.events {
		w.page = page{}
		if err := w.decide(); err != nil {
			return err
		}
	}
	if err := t.settleLinks(ctx); err != nil {
		return err
	}
	if err := t.undoRedundant(ctx); err != nil {
		return err
	}
	if err := t.route(ctx); err != nil {
		return err
	}
	for _, w := range t.events {
		w.WithoutEffect = t.countWithoutEffect(w)
	}
	b := &pgx.Batch{}
	t.queueLinks(b)
	var until time.Time
	if t.foldFor > 0 {
		until = time.Now().Add(t.foldFor)
	}
	folded, err := t.entities.Fold(ctx, t.Transaction, b, t.touches(), t.locked, t.clock, until)
	if err != nil {
		return err
	}
	t.nameEntities(folded)
	t.queueRows(b)
	t.queueIdentities(b)
	subscriptions.QueueDeliveries(b, t.matches)
	changes.Queue(b, slices.Concat(t.removed, eventChanges(t.events), folded))
	for _, queue := range last {
		queue(b)
	}
	if t.isTrial {
		return t.Send(ctx, b)
	}
	if err := t.Commit(ctx, b); err != nil {
		return err
	}
	if len(t.matches) > 0 {
		t.subscriptions.Committed(t.matches)
	}
	return nil
}

// decide sets the outcome that the event has once the transaction commits.
func (w *write) decide() error {
	w.Written = event.Written{}
	conflict := w.receipt.ConflictWith(w.found.owner, w.found.ownerFingerprint)
	switch {
	case w.found.decision != nil:
		w.Written = event.Written{Outcome: w.found.decision.Outcome, Decision: w.found.decision}
	case w.owns() && w.heldReason() != nil:
		w.Written = event.Written{Held: w.heldReason()}
	case w.owns() && w.finishes():
		w.Written = event.Written{Outcome: outcomeOf(w.parsed), PossibleDuplicateOf: w.repeats()}
	case w.owns() || w.isRebuild:
		w.Written = event.Written{PossibleDuplicateOf: w.repeats()}
	case w.scope == entitiesOnly:
		return errNotPersisted
	case w.repeatsFormer():
		w.decideRepeat(w.formerFound)
	case w.repeatsApart():
		w.decideRepeat(w.apart)
	case w.found.owner == "" && !w.found.exists:
		return errKeyVanished
	case w.isCorrectedConflict(conflict):
		w.Written = event.Written{Held: correctedConflict(w.found.owner), Conflict: conflict}
	case w.imported == "" && w.receipt.IsConflict(conflict):
		w.Written = event.Written{Held: conflictWith(w.found.owner), Conflict: conflict}
	default:
		w.Written = event.Written{
			Outcome: event.OutcomeDuplicate, Owner: w.found.owner, OwnerStatus: w.found.ownerStatus,
			OwnerWaits: w.ownerWaits(), Conflict: conflict,
		}
	}
	return nil
}

// ownerWaits reports whether no run is processing the owner of the key: it has a dead letter, or it is unfinished and this is a
// run of its own workflow. Temporal has one open run of a workflow ID at a time, so the run that stored the owner is gone.
func (w *write) ownerWaits() bool {
	return w.found.ownerWaits ||
		w.found.ownerStatus == event.StatusPersisted && w.found.ownerWorkflow == postgres.Clean(w.run.WorkflowID)
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

// isRace reports whether rows were added or removed between the reads and the writes. A restarted transaction may succeed.
func isRace(err error) bool {
	var pg *pgconn.PgError
	return errors.Is(err, errKeyVanished) || errors.Is(err, errMoved) || errors.As(err, &pg) && postgres.IsLostRace(pg)
}

// isOfOne reports whether one of several events may have caused the transaction's error: by its own fault, by a lock or row of
// another transaction, or because it needs a damaged page. All other errors are database failures, which affect all events.
func isOfOne(err error) bool {
	return err != nil &&
		(postgres.IsLockFailure(err) || postgres.IsOutOfLocks(err) || postgres.IsDamage(err) || isRace(err) ||
			event.ClassOf(postgres.Failure("write events", err)) != event.ClassTransient)
}

// filter returns the elements for which want is true.
func filter(ws []*write, want func(*write) bool) (some []*write) {
	for _, w := range ws {
		if want(w) {
			some = append(some, w)
		}
	}
	return some
}
