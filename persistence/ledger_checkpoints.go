package persistence

import (
	"context"
	"slices"

	"github.com/jackc/pgx/v5"

	"holdfast/event"
	"holdfast/ledger"
)

const (
	livesOf = lifeColumns + `
  FROM entities WHERE (provider, kind, external_id) IN (SELECT * FROM unnest($1::text[], $2::text[], $3::text[]))`

	checkpointsOf = `
SELECT links, version, occurred_at, event_id::text, latest_at, state, deleted, provider, kind, external_id FROM entity_checkpoints
 WHERE (provider, kind, external_id) IN (SELECT * FROM unnest($1::text[], $2::text[], $3::text[]))`

	checkpointsOfNone = `
SELECT DISTINCT provider, kind, external_id FROM entity_checkpoints AS c
 WHERE NOT EXISTS (SELECT FROM entities AS e
                    WHERE e.provider = c.provider AND e.kind = c.kind AND e.external_id = c.external_id)
 ORDER BY 1, 2, 3`
)

// histories are the changes of entities, in fold order.
type histories map[event.EntityRef][]event.OrderedChange

// addWrongCheckpoints compares what entities know of their changes, and their checkpoints, with the changes themselves.
func addWrongCheckpoints(ctx context.Context, tx pgx.Tx, refs []event.EntityRef, of histories, wrong *ledger.Finding) error {
	providers, kinds, ids := columnsOfRefs(refs)
	rows, _ := tx.Query(ctx, livesOf, providers, kinds, ids)
	lives, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (*life, error) { return scanLife(row) })
	if err != nil {
		return err
	}
	rows, _ = tx.Query(ctx, checkpointsOf, providers, kinds, ids)
	kept, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (c checkpoint, err error) {
		err = scanCheckpoint(row, &c, &c.Provider, &c.Kind, &c.ExternalID)
		return c, err
	})
	if err != nil {
		return err
	}
	resets, bad := map[event.EntityRef]event.Order{}, map[event.EntityRef]bool{}
	for _, l := range lives {
		counted := countedAnew(of[l.EntityRef])
		resets[l.EntityRef] = counted.reset
		bad[l.EntityRef] = l.isKnown && !l.counts(counted)
	}
	for _, c := range kept {
		bad[c.EntityRef] = bad[c.EntityRef] || !c.agreesWith(of[c.EntityRef], resets[c.EntityRef])
	}
	for _, ref := range refs {
		if bad[ref] {
			addEntity(wrong, ref)
		}
	}
	return nil
}

// countedAnew is what an entity should know of its changes.
func countedAnew(changes []event.OrderedChange) *life {
	l := &life{}
	for _, c := range changes {
		if !c.Change.Mentions() {
			l.count(c)
		}
	}
	return l
}

// counts says whether l has counted as other has.
func (l *life) counts(other *life) bool {
	return l.links == other.links && l.reset.Compare(other.reset) == 0 && l.latest.Equal(other.latest)
}

// agreesWith says whether the checkpoint is the plain fold of the changes up to it, and none from before the last reset.
func (c checkpoint) agreesWith(changes []event.OrderedChange, reset event.Order) bool {
	end := slices.IndexFunc(changes, func(o event.OrderedChange) bool { return o.Order.Compare(c.Last) > 0 })
	if end < 0 {
		end = len(changes)
	}
	covered := countedAnew(changes[:end])
	e, err := event.Fold(c.EntityRef, changes[:end])
	return err == nil && sameJSON(e.State, c.State) && e.Deleted == c.Deleted && e.Last.Compare(c.Last) == 0 &&
		covered.links == c.links && covered.latest.Equal(c.latest) && covered.reset.Compare(reset) == 0
}

// findCheckpointsOfNone are those whose entity is gone.
func findCheckpointsOfNone(ctx context.Context, tx pgx.Tx, wrong *ledger.Finding) error {
	rows, _ := tx.Query(ctx, checkpointsOfNone)
	var ref event.EntityRef
	_, err := pgx.ForEachRow(rows, []any{&ref.Provider, &ref.Kind, &ref.ExternalID}, func() error {
		addEntity(wrong, ref)
		return nil
	})
	return err
}

func addEntity(wrong *ledger.Finding, ref event.EntityRef) {
	wrong.Count++
	if len(wrong.Examples) < maxExamples {
		wrong.Examples = append(wrong.Examples, ref.Provider+"/"+ref.Kind+"/"+ref.ExternalID)
	}
}
