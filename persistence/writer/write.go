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
	"holdfast/event/operation"
	"holdfast/feed"
	"holdfast/persistence/changes"
	"holdfast/persistence/entities"
	"holdfast/persistence/postgres"
	"holdfast/persistence/subscriptions"
)

// extent is how much of an event a transaction writes.
type extent int

const (
	// wholeEvent: claim its key, store its row, fold its changes, finish.
	wholeEvent extent = iota
	// rowOnly: claim its key and store its row. The changes are left for entitiesOnly.
	rowOnly
	// entitiesOnly: fold the changes of an event that has its row, and finish.
	entitiesOnly
)

// write is one event on its way through a transaction.
type write struct {
	receipt event.Receipt
	parsed  event.Parsed
	run     event.Run
	extent  extent
	// isRebuild: nobody asked for this event. It is written only where it has been processed, and neither its dead letters nor its
	// run change.
	isRebuild bool
	// brought is what an import brings; "" of what comes by itself.
	brought operation.ImportRecord
	// isStored: an import brings it back from an archive, with its own ID.
	isStored bool
	changes  []event.OrderedChange // in the order of the definition; none where nothing is folded
	row      eventRow              // not of entitiesOnly
	routed   subscriptions.Routed

	found   found
	content content
	event.Written
}

// found is what a transaction reads of an event once it holds its lock.
type found struct {
	status  event.Status          // "" where it has no row
	isDead  bool                  // a dead letter waits
	links   []event.OrderedChange // of an earlier parse
	verdict *event.Decision       // nil where nobody has decided about it

	owner            string // of its key; "" where nobody is
	ownerFingerprint string
	ownerReceived    *time.Time
	ownerStatus      event.Status // "" where it has no row
	ownerWorkflow    string       // the ID of its workflow; "" if it has no row
	ownerWaits       bool         // a dead letter of it does
	claimed          bool         // its key was claimed by this transaction; only of what an import brings
	isHere           bool         // it is here under another ID; only of what an import brings
}

// newWrite prepares everything that needs no database. An event that its definition ignores has no changes, and nothing to wait
// for: its row is the whole of it.
func newWrite(r event.Receipt, body []byte, p event.Parsed, run event.Run, extent extent) (w *write, err error) {
	var id pgtype.UUID
	if id.Scan(r.ID) != nil || !id.Valid {
		return nil, event.Rejectf("malformed_id", "the event's ID is no UUID")
	}
	r.ID = id.String() // as the database gives it back
	w = &write{receipt: r, parsed: p, run: run, extent: extent}
	if outcomeOf(p) == event.OutcomeIgnored {
		w.parsed.Changes = nil
		if extent == rowOnly {
			w.extent = wholeEvent
		}
	}
	if w.extent != entitiesOnly {
		if w.row, err = newEventRow(r, body); err != nil {
			return nil, err
		}
	}
	if w.extent != rowOnly {
		w.changes, err = changesOf(r, w.parsed)
	}
	return w, err
}

func (w *write) refOf(c event.Change) event.EntityRef {
	return event.EntityRef{Provider: w.provider(), Kind: c.Kind, ExternalID: c.ExternalID}
}

func (w *write) provider() string { return postgres.Clean(w.receipt.Provider) }

// owns says whether the event goes on: its key is its own; or it has a row, for then it won earlier, and stays an event of its
// own even if its window has passed and another event has the key by now; or that one came a dedupe window or more after it,
// while it waited.
func (w *write) owns() bool {
	if w.Held != nil {
		return false
	}
	if w.brought != "" {
		return w.ownsImported()
	}
	if w.found.verdict != nil || w.extent == entitiesOnly && w.found.status == "" {
		return false
	}
	if w.isRebuild {
		return w.found.status == event.StatusProcessed
	}
	return w.found.status != "" || w.found.owner == w.receipt.ID ||
		w.found.owner != "" && w.receipt.BeforeWindowOf(*w.found.ownerReceived)
}

// finishes says whether this transaction is the last of the event.
func (w *write) finishes() bool { return w.extent != rowOnly }

// relinks says whether the links of the event change: it has none yet, or those of an earlier parse are not the same.
func (w *write) relinks() bool {
	return w.owns() && w.finishes() && !sameLinks(w.found.links, w.changes)
}

// patience bounds how long a transaction waits for what somebody else holds, and for a statement that does not end. Where it is
// empty the settings of the session hold.
type patience struct{ lock, statement string }

var (
	// inCompany: nobody waits for long for what another member of a group waits for.
	inCompany = patience{"50ms", "2s"}
	// alone: an event by itself waits longer, and then leaves its entities to the upsert step, which waits as long as the store
	// allows.
	alone = patience{"500ms", "5s"}
	// ofStore is Config's.
	ofStore = patience{}
)

// maxRaces is how often a transaction begins anew because rows came or went between its look and its write.
const maxRaces = 3

// writing is a transaction that writes events.
type writing struct {
	*postgres.Transaction

	events []*write
	held   map[event.EntityRef]*entities.Life // those that were there, locked

	entities      *entities.Store
	subscriptions *subscriptions.Store
	naming        *naming // nil where no event has names
	head          int64   // the version of the subscriptions
	clock         int64   // of the database, in microseconds
	departs       []subscriptions.Departing
	told          []feed.Change
	isTrial       bool          // it is rolled back
	foldFor       time.Duration // bounds how long it folds for what comes late; 0: it takes its time
}

// writeTogether writes events, of which no two have the same ID or key, in one transaction: all or none. After it each has its
// Written.
func (s *Store) writeTogether(ctx context.Context, ws []*write, p patience, foldFor time.Duration) (err error) {
	for range maxRaces {
		if err = s.tryTogether(ctx, ws, p, foldFor); !isRace(err) {
			return err
		}
	}
	return err
}

func (s *Store) tryTogether(ctx context.Context, ws []*write, p patience, foldFor time.Duration) (err error) {
	t := &writing{
		events: ws, held: map[event.EntityRef]*entities.Life{}, entities: s.entities, subscriptions: s.subscriptions, foldFor: foldFor,
	}
	b := &pgx.Batch{}
	queueSettings(b, p)
	t.queueLook(b)
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

func queueSettings(b *pgx.Batch, p patience) { b.Queue(setTransaction, p.lock, p.statement) }

// finish folds, stores and routes the events that the transaction has looked at, runs what the caller has to do last, and
// commits.
func (t *writing) finish(ctx context.Context, last ...func(*pgx.Batch)) error {
	t.told = nil
	t.compareContents()
	for _, w := range t.events {
		if err := w.judge(); err != nil {
			return err
		}
	}
	if err := t.settleNames(ctx); err != nil {
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
	folded, err := t.entities.Fold(ctx, t.Transaction, b, t.touches(), t.held, t.clock, until)
	if err != nil {
		return err
	}
	t.nameEntities(folded)
	t.queueRows(b)
	subscriptions.QueueDeliveries(b, t.departs)
	changes.Queue(b, slices.Concat(t.told, tellEvents(t.events), folded))
	for _, queue := range last {
		queue(b)
	}
	if t.isTrial {
		return t.Send(ctx, b)
	}
	if err := t.Commit(ctx, b); err != nil {
		return err
	}
	if len(t.departs) > 0 {
		t.subscriptions.Departed(t.departs)
	}
	return nil
}

// judge says how the event will have ended once the transaction has committed.
func (w *write) judge() error {
	w.Written = event.Written{}
	conflict := w.receipt.ConflictWith(w.found.owner, w.found.ownerFingerprint)
	switch {
	case w.found.verdict != nil:
		w.Written = event.Written{Outcome: w.found.verdict.Outcome, Decision: w.found.verdict}
	case w.owns() && w.held() != nil:
		w.Written = event.Written{Held: w.held()}
	case w.owns() && w.finishes():
		w.Written = event.Written{Outcome: outcomeOf(w.parsed), PossibleDuplicateOf: w.marks()}
	case w.owns() || w.isRebuild:
		w.Written = event.Written{PossibleDuplicateOf: w.marks()}
	case w.extent == entitiesOnly:
		return errNotPersisted
	case w.found.owner == "" && !w.found.isHere:
		return errKeyVanished
	case w.brought == "" && w.receipt.IsConflict(conflict):
		w.Written = event.Written{Held: conflictWith(w.found.owner), Conflict: conflict}
	default:
		w.Written = event.Written{
			Outcome: event.OutcomeDuplicate, Owner: w.found.owner, OwnerStatus: w.found.ownerStatus,
			OwnerWaits: w.ownerWaits(), Conflict: conflict,
		}
	}
	return nil
}

// ownerWaits reports whether nothing works on the owner of the key: it has a dead letter, or it is unfinished and this is a run
// of its own workflow. Temporal has one open run of a workflow ID at a time, so the run that stored the owner is gone.
func (w *write) ownerWaits() bool {
	return w.found.ownerWaits ||
		w.found.ownerStatus == event.StatusPersisted && w.found.ownerWorkflow == postgres.Clean(w.run.WorkflowID)
}

var (
	// errNotPersisted: there is no row to finish. Persist was not run, or another event owns the key.
	errNotPersisted = &event.Error{
		Class: event.ClassFailed, Code: "not_persisted", Text: "the event has not been persisted",
	}
	// errKeyVanished: the key was purged between the claim that it refused and the look at its owner.
	errKeyVanished = &event.Error{
		Class: event.ClassTransient, Code: "key_vanished", Text: "the idempotency key was purged while it was claimed",
	}
)

// isRace: rows came or went between the look and the write, and a transaction that begins anew may find them as they are.
func isRace(err error) bool {
	var pg *pgconn.PgError
	return errors.Is(err, errKeyVanished) || errors.Is(err, errMoved) || errors.As(err, &pg) && postgres.IsLostRace(pg)
}

// isOfOne says whether an error of a transaction over several events may be that of one among them: its own fault, or what
// somebody holds or has made. The rest is trouble of the database, which all of them share.
func isOfOne(err error) bool {
	return err != nil &&
		(postgres.IsLockTrouble(err) || postgres.IsOutOfLocks(err) || isRace(err) ||
			event.ClassOf(postgres.Failure("write events", err)) != event.ClassTransient)
}

// sift gives the elements that are wanted.
func sift(ws []*write, want func(*write) bool) (some []*write) {
	for _, w := range ws {
		if want(w) {
			some = append(some, w)
		}
	}
	return some
}
