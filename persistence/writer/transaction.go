package writer

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"holdfast/event"
	"holdfast/event/feed"
	"holdfast/persistence/changes"
	"holdfast/persistence/entities"
	"holdfast/persistence/postgres"
	"holdfast/persistence/subscriptions"
)

// timeouts is a lock timeout and a statement timeout. An empty value keeps the one in force.
type timeouts struct{ lock, statement string }

var (
	// groupTimeouts keeps the members of a group from waiting long for each other's locks.
	groupTimeouts = timeouts{"50ms", "2s"}
	// alone is for an event written on its own. After these timeouts its entities are left to the upsert step, which waits as long
	// as the store allows.
	alone = timeouts{"500ms", "5s"}
	// largeTimeouts is for a large event, which is always written on its own: a group would wait for its bytes.
	largeTimeouts = timeouts{"2s", "60s"}
	// storeTimeouts keeps the timeouts of Config.
	storeTimeouts = timeouts{}
)

// maxRaces is how often a transaction restarts because rows were added or removed between its reads and its writes.
const maxRaces = 3

type transaction struct {
	*postgres.Transaction

	events []*eventWrite
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
func (s *Store) writeTogether(ctx context.Context, ws []*eventWrite, p timeouts, foldFor time.Duration) (err error) {
	for range maxRaces {
		if err = s.tryTogether(ctx, ws, p, foldFor); !isRace(err) {
			return err
		}
	}
	return err
}

// writeAlone writes an event in its own transactions, with the store's timeouts: one, or as many as it has pages. Afterwards the
// event has how many of its changes have no effect, also if only some pages are written.
func (s *Store) writeAlone(ctx context.Context, w *eventWrite) error {
	withoutEffect, timeouts := 0, storeTimeouts
	if w.isLarge() {
		timeouts = largeTimeouts
	}
	for {
		err := s.writeTogether(ctx, []*eventWrite{w}, timeouts, 0)
		if w.omitLarge(err) {
			continue
		}
		if err == nil {
			withoutEffect += w.WithoutEffect
		}
		if w.WithoutEffect = withoutEffect; err != nil || !w.page.hasNext {
			return err
		}
		w.scope = event.EntitiesOnly // it has its row
		w.after = w.page.upTo
	}
}

// omitLarge leaves out the entities that the transaction would have made too large. It reports whether there are any, so that the
// transaction can be tried again.
func (w *eventWrite) omitLarge(err error) (omits bool) {
	var large *entities.LargeError
	if !errors.As(err, &large) {
		return false
	}
	w.changes = slices.DeleteFunc(w.changes, func(c event.OrderedChange) bool {
		if !slices.Contains(large.Refs, w.refOf(c.Change)) {
			return false
		}
		w.omit(c.Change, event.EntityTooLarge)
		omits = true
		return true
	})
	return omits
}

func (s *Store) tryTogether(ctx context.Context, ws []*eventWrite, p timeouts, foldFor time.Duration) (err error) {
	t := &transaction{
		events: ws, locked: map[event.EntityRef]*entities.Life{}, entities: s.entities, subscriptions: s.subscriptions,
		foldFor: foldFor, pageSize: s.pageSize,
	}
	b := &pgx.Batch{}
	b.Queue(`SELECT ` + postgres.SettingsOfPlans)
	t.queueReads(b, p)
	if t.Transaction, err = s.db.Begin(ctx, b); err != nil {
		return err
	}
	defer t.Rollback(ctx)
	return t.finish(ctx)
}

const (
	setTimeouts = `
SELECT set_config('lock_timeout', coalesce(nullif($1, ''), current_setting('lock_timeout')), true) AS lock,
       set_config('statement_timeout', coalesce(nullif($2, ''), current_setting('statement_timeout')), true) AS statement`

	// lockEvents is setTimeouts, and then postgres.EventLocks. Its own statement_timeout is the session's.
	lockEvents = `
WITH timeouts AS MATERIALIZED (` + setTimeouts + `)
SELECT pg_advisory_xact_lock(h) FROM timeouts CROSS JOIN (
       SELECT DISTINCT hashtextextended(lower(id), 0) AS h FROM unnest($3::text[]) AS id ORDER BY h) AS in_one_order
 WHERE timeouts.lock <> '' AND timeouts.statement <> ''`
)

func queueSettings(b *pgx.Batch, p timeouts) {
	b.Queue(`SELECT ` + postgres.SettingsOfPlans)
	b.Queue(setTimeouts, p.lock, p.statement)
}

// finish folds, stores and routes the events that the transaction has looked at, queues what last adds, and commits.
func (t *transaction) finish(ctx context.Context, last ...func(*pgx.Batch)) error {
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
	changes.Queue(b, slices.Concat(t.removed, eventChanges(t.events), folded))
	for _, queue := range last {
		queue(b)
	}
	deliveries := t.subscriptions.NewDeliveries(t.matches)
	defer deliveries.Release()
	deliveries.Queue(b)
	if t.isTrial {
		return t.Send(ctx, b)
	}
	if err := t.Commit(ctx, b); err != nil {
		deliveries.Failed(err)
		return err
	}
	deliveries.Committed()
	return nil
}

// filter returns the elements for which want is true.
func filter(ws []*eventWrite, want func(*eventWrite) bool) (some []*eventWrite) {
	for _, w := range ws {
		if want(w) {
			some = append(some, w)
		}
	}
	return some
}
