package decisions

import (
	"context"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"holdfast/event"
	"holdfast/persistence/changes"
	"holdfast/persistence/entities"
	"holdfast/persistence/names"
	"holdfast/persistence/postgres"
)

const (
	linksToUndo = `
SELECT kind, external_id, op, change, version, occurred_at, event_id::text, provider,
       NOT EXISTS (SELECT FROM events WHERE id = $1::uuid)
  FROM event_entities WHERE event_id = $1::uuid`

	deleteLinks = `DELETE FROM event_entities WHERE event_id = $1::uuid`

	// maxMoves is how often entities are locked because links have moved meanwhile.
	maxMoves = 3
)

// Effects lists what undoing an event did to entities.
type Effects struct {
	Changes  int64
	Entities int

	// Covered lists the entities whose base covers the event, or may: its changes can't be undone there any more.
	Covered []event.EntityRef
	// Incomplete entities can't be folded without the event; Recomputed ones were folded from the archive.
	Incomplete, Recomputed []event.EntityRef
}

// Detail returns the effects for the audit log.
func (e Effects) Detail() map[string]any {
	return map[string]any{"changes": e.Changes, "entities": e.Entities}
}

type undoing struct {
	eventID    string
	isExpunged bool
	provider   string
	archived   entities.Archived

	locked  map[event.EntityRef]*entities.Life
	all     entities.Touches
	covered []event.EntityRef
}

// Undo removes the changes of an event, and folds their entities again without them.
func Undo(ctx context.Context, e *entities.Store, t *postgres.Transaction, eventID string) (Effects, error) {
	return (&undoing{eventID: eventID}).undo(ctx, e, t)
}

func (of *undoing) undo(ctx context.Context, store *entities.Store, t *postgres.Transaction) (taken Effects, err error) {
	if err := of.hold(ctx, t); err != nil || len(of.all) == 0 {
		return taken, err
	}
	for _, touch := range of.all {
		taken.Changes += int64(len(touch.Gone))
		if len(touch.Gone) > 0 {
			taken.Entities++
		}
	}
	if taken.Recomputed, err = of.rebase(ctx, store, t); err != nil {
		return taken, err
	}
	b := &pgx.Batch{}
	b.Queue(deleteLinks, of.eventID)
	reported, err := store.Fold(ctx, t, b, of.all, of.locked, 0, time.Time{}) // it creates none
	if err != nil {
		return taken, err
	}
	for _, ref := range entities.SortedRefs(of.all) {
		touch := of.all[ref]
		if touch.InBase {
			taken.Covered = append(taken.Covered, ref)
		}
		if touch.IsIncomplete {
			taken.Incomplete = append(taken.Incomplete, ref)
		}
	}
	changes.Queue(b, reported)
	names.QueueForget(b, entities.SortedRefs(of.all))
	return taken, t.Send(ctx, b)
}

// hold locks the entities that the event is linked to, and those whose base covers it. While it waits, a merge may move links,
// and a purge may collapse them: then it locks once more.
func (of *undoing) hold(ctx context.Context, t *postgres.Transaction) error {
	of.locked = map[event.EntityRef]*entities.Life{}
	if of.isExpunged {
		b := &pgx.Batch{}
		entities.QueueCovering(b, of.provider, of.eventID, &of.covered)
		if err := t.Send(ctx, b); err != nil {
			return err
		}
	}
	for range maxMoves {
		if err := of.lock(ctx, t); err != nil {
			return err
		}
		if !slices.ContainsFunc(entities.SortedRefs(of.all), func(ref event.EntityRef) bool { return of.locked[ref] == nil }) {
			break
		}
	}
	return nil
}

func (of *undoing) lock(ctx context.Context, t *postgres.Transaction) error {
	var needs entities.Needs
	for _, ref := range of.covered {
		needs.Rebase(ref)
	}
	of.all = entities.Touches{}
	b := &pgx.Batch{}
	b.Queue(`SELECT ` + postgres.SettingsOfPlans)
	names.QueueLocksOfEvent(b, of.eventID)
	entities.QueueLocks(b, needs, []string{of.eventID}, of.locked)
	b.Queue(linksToUndo, of.eventID).Query(of.collect)
	if of.isExpunged {
		entities.QueueCovering(b, of.provider, of.eventID, &of.covered)
	}
	if err := t.Send(ctx, b); err != nil {
		return err
	}
	for _, ref := range of.covered {
		of.all.Of(ref).InBase = true
	}
	return nil
}

func (of *undoing) collect(rows pgx.Rows) error {
	for rows.Next() {
		var provider string
		var isPurged bool
		l, err := entities.ScanOrdered(rows, &provider, &isPurged)
		if err != nil {
			return err
		}
		touch := of.all.Of(event.EntityRef{Provider: provider, Kind: l.Change.Kind, ExternalID: l.Change.ExternalID})
		touch.Gone, touch.IsPurged = append(touch.Gone, l), isPurged
	}
	return rows.Err()
}

// rebase gives entities the base that results from their archived history, and returns those that have one.
func (of *undoing) rebase(
	ctx context.Context, store *entities.Store, t *postgres.Transaction,
) (done []event.EntityRef, err error) {
	for _, ref := range entities.SortedRefs(of.archived) {
		touch, l := of.all[ref], of.locked[ref]
		if touch == nil || l == nil {
			continue
		}
		is, err := store.Rebase(ctx, t, l, of.archived[ref], of.eventID)
		if err != nil {
			return nil, err
		}
		if is {
			touch.Again, touch.InBase = true, false
			done = append(done, ref)
		}
	}
	return done, nil
}
