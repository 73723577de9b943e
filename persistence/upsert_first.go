package persistence

import (
	"context"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"holdfast/event"
)

// The statements of the common case name one entity each: the planner has one way to do them and so keeps their plans.
// Those for any number of entities it plans anew for each event, which takes longer than the statement.
const (
	// makeEntity makes an entity as it is after its first event.
	makeEntity = `
INSERT INTO entities (provider, kind, external_id, state, deleted, version, occurred_at, last_event_id)
VALUES ($1, $2, $3, $4::jsonb, $5, $6, $7, $8::uuid)
    ON CONFLICT DO NOTHING`

	lockEntity = `
SELECT kind, external_id, state, deleted, version, occurred_at, coalesce(last_event_id::text, '')
  FROM entities
 WHERE provider = $1 AND kind = $2 AND external_id = $3
   FOR UPDATE`

	writeEntity = `
UPDATE entities
   SET state = $4::jsonb, deleted = $5, version = $6, occurred_at = $7, last_event_id = $8::uuid, updated_at = now()
 WHERE provider = $1 AND kind = $2 AND external_id = $3`
)

// first is an upsert of an event that may not have been folded before, which is the common case.
type first struct {
	refs []event.EntityRef // in the order in which rows are made and locked: bytewise, as in upsertAgain
	mine map[event.EntityRef][]event.OrderedChange
	made map[event.EntityRef]bool
	held []lockedEntity // without those that were made

	stored, linked bool
}

func newFirst(r event.Receipt, changes []event.OrderedChange) *first {
	mine := groupByEntity(clean(r.Provider), changes)
	return &first{refs: mine.refs(), mine: mine, made: make(map[event.EntityRef]bool, len(mine))}
}

// upsertFirst folds an event, and says whether it has done so: not if there are links of the event already.
func (s *Store) upsertFirst(
	ctx context.Context, r event.Receipt, p event.Parsed, run event.Run, changes []event.OrderedChange,
) (done bool, err error) {
	f, b := newFirst(r, changes), &pgx.Batch{}
	b.Queue(eventLock, r.ID)
	queueFinish(b, r, p, run, &f.stored)
	if err := f.queueMake(b); err != nil {
		return false, err
	}
	f.queueLock(b)
	b.Queue(deleteLinks, r.ID).
		Exec(func(tag pgconn.CommandTag) error { f.linked = tag.RowsAffected() > 0; return nil })
	queueInsertLinks(b, r, p, changes)
	tx, err := s.begin(ctx, b)
	if err != nil {
		return false, err
	}
	defer tx.rollback(ctx)
	switch {
	case !f.stored:
		return false, errNotPersisted
	case f.linked:
		return false, nil
	case len(f.made)+len(f.held) < len(f.refs):
		return false, errEntityVanished
	}
	return true, tx.foldFirst(ctx, clean(r.Provider), f)
}

// foldFirst brings the entities up to date that were there before, and commits.
func (t *transaction) foldFirst(ctx context.Context, provider string, f *first) error {
	folded, late, err := appendChanges(f.held, f.mine)
	if err != nil {
		return err
	}
	refolded, err := t.refold(ctx, provider, late)
	if err != nil {
		return err
	}
	b := &pgx.Batch{}
	for _, e := range slices.Concat(folded, refolded) {
		b.Queue(writeEntity, columnsOfEntity(e)...)
	}
	return t.commit(ctx, b)
}

func (f *first) queueMake(b *pgx.Batch) error {
	for _, ref := range f.refs {
		e, err := event.Fold(ref, f.mine[ref])
		if err != nil {
			return err
		}
		b.Queue(makeEntity, columnsOfEntity(e)...).Exec(func(tag pgconn.CommandTag) error {
			if tag.RowsAffected() > 0 {
				f.made[ref] = true
			}
			return nil
		})
	}
	return nil
}

func (f *first) queueLock(b *pgx.Batch) {
	for _, ref := range f.refs {
		b.Queue(lockEntity, ref.Provider, ref.Kind, ref.ExternalID).Query(func(rows pgx.Rows) error {
			for rows.Next() && !f.made[ref] {
				e := lockedEntity{Entity: event.Entity{EntityRef: ref}}
				if err := scanEntity(rows, &e.Entity); err != nil {
					return err
				}
				f.held = append(f.held, e)
			}
			return rows.Err()
		})
	}
}

func columnsOfEntity(e event.Entity) []any {
	return []any{
		e.Provider, e.Kind, e.ExternalID, string(e.State), e.Deleted, e.Last.Version, e.Last.OccurredAt, e.Last.EventID,
	}
}
