package persistence

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"holdfast/event"
)

const (
	// makeFolded makes the entities that are not there as they are after the batch, and gives those.
	makeFolded = `
INSERT INTO entities (provider, kind, external_id, state, deleted, version, occurred_at, last_event_id)
SELECT provider, kind, external_id, state::jsonb, deleted, version, occurred_at, last_event_id
  FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::boolean[], $6::bigint[], $7::timestamptz[], $8::uuid[])
       AS f (provider, kind, external_id, state, deleted, version, occurred_at, last_event_id)
    ON CONFLICT DO NOTHING
RETURNING provider, kind, external_id`

	// lockMany locks one row after the other, in the order that is asked for.
	lockMany = `
SELECT e.* FROM unnest($1::text[], $2::text[], $3::text[]) AS wanted (provider, kind, external_id)
 CROSS JOIN LATERAL (
       SELECT kind, external_id, state, deleted, version, occurred_at, coalesce(last_event_id::text, ''), provider
         FROM entities
        WHERE provider = wanted.provider AND kind = wanted.kind AND external_id = wanted.external_id
          FOR UPDATE) AS e`
)

// changesByEntity are the changes of an event or of a batch, those of each entity in fold order.
type changesByEntity map[event.EntityRef][]event.OrderedChange

func changesOfBatch(events []*batched) changesByEntity {
	all := make(changesByEntity, len(events))
	for _, e := range events {
		provider := clean(e.Receipt.Provider)
		for _, c := range e.changes {
			ref := event.EntityRef{Provider: provider, Kind: c.Change.Kind, ExternalID: c.Change.ExternalID}
			all[ref] = append(all[ref], c)
		}
	}
	for _, changes := range all {
		slices.SortStableFunc(changes, func(a, b event.OrderedChange) int { return a.Order.Compare(b.Order) })
	}
	return all
}

// refs are the entities in the order in which rows are made and locked: bytewise, as in upsertAgain.
func (c changesByEntity) refs() []event.EntityRef {
	return slices.SortedFunc(maps.Keys(c), func(a, b event.EntityRef) int {
		return cmp.Or(cmp.Compare(a.Provider, b.Provider), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.ExternalID, b.ExternalID))
	})
}

// foldBatch brings the entities of a batch up to date, whose links are stored. Entities that are new are made as they are
// after it; the others are locked, and take the changes on top of their state or, if one comes late, fold again.
func (t *batch) foldBatch(ctx context.Context, changes changesByEntity) error {
	refs := changes.refs()
	if len(refs) == 0 {
		return nil
	}
	made, err := t.makeFolded(ctx, refs, changes)
	if err != nil {
		return err
	}
	refs = slices.DeleteFunc(refs, func(ref event.EntityRef) bool { return made[ref] })
	if len(refs) == 0 {
		return nil
	}
	locked, err := t.lockMany(ctx, refs)
	if err != nil {
		return err
	}
	if len(locked) < len(refs) {
		return errEntityVanished
	}
	folded, late, err := appendChanges(locked, changes)
	if err != nil {
		return err
	}
	b := &pgx.Batch{}
	for provider, mine := range byProvider(folded, func(e event.Entity) string { return e.Provider }) {
		queueEntities(b, provider, mine)
	}
	for provider, mine := range byProvider(late, func(r event.EntityRef) string { return r.Provider }) {
		refolded, err := t.refold(ctx, provider, mine)
		if err != nil {
			return err
		}
		queueEntities(b, provider, refolded)
	}
	return t.send(ctx, b)
}

func byProvider[T any](all []T, provider func(T) string) map[string][]T {
	groups := map[string][]T{}
	for _, v := range all {
		groups[provider(v)] = append(groups[provider(v)], v)
	}
	return groups
}

// makeFolded gives the entities that it has made.
func (t *batch) makeFolded(
	ctx context.Context, refs []event.EntityRef, changes changesByEntity,
) (map[event.EntityRef]bool, error) {
	n := len(refs)
	providers, kinds, ids := columnsOfMany(refs)
	states, deleted, versions := make([]string, n), make([]bool, n), make([]*int64, n)
	times, lastIDs := make([]time.Time, n), make([]string, n)
	for i, ref := range refs {
		e, err := event.Fold(ref, changes[ref])
		if err != nil {
			return nil, err
		}
		states[i], deleted[i], versions[i] = string(e.State), e.Deleted, e.Last.Version
		times[i], lastIDs[i] = e.Last.OccurredAt, e.Last.EventID
	}
	made := make(map[event.EntityRef]bool, n)
	b := &pgx.Batch{}
	b.Queue(makeFolded, providers, kinds, ids, states, deleted, versions, times, lastIDs).Query(func(rows pgx.Rows) error {
		var ref event.EntityRef
		_, err := pgx.ForEachRow(rows, []any{&ref.Provider, &ref.Kind, &ref.ExternalID}, func() error {
			made[ref] = true
			return nil
		})
		return err
	})
	return made, t.send(ctx, b)
}

func (t *batch) lockMany(ctx context.Context, refs []event.EntityRef) (locked []lockedEntity, err error) {
	providers, kinds, ids := columnsOfMany(refs)
	b := &pgx.Batch{}
	b.Queue(lockMany, providers, kinds, ids).Query(func(rows pgx.Rows) error {
		for rows.Next() {
			var e lockedEntity
			if err := scanEntity(rows, &e.Entity, &e.Provider); err != nil {
				return err
			}
			locked = append(locked, e)
		}
		return rows.Err()
	})
	return locked, t.send(ctx, b)
}

func columnsOfMany(refs []event.EntityRef) (providers, kinds, ids []string) {
	kinds, ids = columnsOf(refs)
	for _, ref := range refs {
		providers = append(providers, ref.Provider)
	}
	return providers, kinds, ids
}
