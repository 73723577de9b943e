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
SELECT provider, kind, external_id FROM (
       SELECT provider, kind, external_id FROM entity_checkpoints
        UNION
       SELECT provider, kind, external_id FROM entity_bases) AS c
 WHERE NOT EXISTS (SELECT FROM entities AS e
                    WHERE e.provider = c.provider AND e.kind = c.kind AND e.external_id = c.external_id)
 ORDER BY 1, 2, 3`
)

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
		bad[l.EntityRef] = l.isKnown && !l.counts(counted) || l.base.Compare(counted.base) != 0
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
func countedAnew(h *history) *life { return h.countedUntil(len(h.changes)) }

func (h *history) countedUntil(end int) *life {
	l := &life{}
	if h.base != nil {
		l.base, l.links, l.latest = h.base.Last, h.base.links, h.base.latest
	}
	for _, c := range h.changes[:end] {
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
func (c checkpoint) agreesWith(h *history, reset event.Order) bool {
	end := slices.IndexFunc(h.changes, func(o event.OrderedChange) bool { return o.Order.Compare(c.Last) > 0 })
	if end < 0 {
		end = len(h.changes)
	}
	covered := h.countedUntil(end)
	e, err := (&history{base: h.base, changes: h.changes[:end]}).fold(c.EntityRef)
	return err == nil && sameJSON(e.State, c.State) && e.Deleted == c.Deleted && e.Last.Compare(c.Last) == 0 &&
		covered.links == c.links && covered.latest.Equal(c.latest) && covered.reset.Compare(reset) == 0
}

// findCheckpointsOfNone are those, and bases, whose entity is gone.
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
