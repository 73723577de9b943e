package entities

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"

	"github.com/jackc/pgx/v5"

	"holdfast/event"
	"holdfast/event/fold"
)

const (
	livesOf = lifeColumns + `
  FROM ` + givenRefs + ` CROSS JOIN LATERAL (SELECT * FROM entities WHERE ` + isGiven + `) AS e`

	checkpointsOf = `
SELECT links, version, occurred_at, event_id::text, latest_at, state, deleted, provider, kind, external_id
  FROM ` + givenRefs + ` CROSS JOIN LATERAL (SELECT * FROM entity_checkpoints WHERE ` + isGiven + `) AS c`
)

// FindWrongCheckpoints compares the counts in the rows of entities, and their checkpoints, with their changes.
func FindWrongCheckpoints(
	ctx context.Context, tx pgx.Tx, refs []event.EntityRef, of Histories, wrong func(event.EntityRef),
) error {
	providers, kinds, ids := ColumnsOfRefs(refs)
	rows, _ := tx.Query(ctx, livesOf, providers, kinds, ids)
	lives, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (*Life, error) { return scanLife(row) })
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
		counted := recount(of[l.EntityRef])
		resets[l.EntityRef] = counted.reset
		bad[l.EntityRef] = l.isKnown && !l.counts(counted) || l.base.Compare(counted.base) != 0
	}
	for _, c := range kept {
		bad[c.EntityRef] = bad[c.EntityRef] || !c.agreesWith(of[c.EntityRef], resets[c.EntityRef])
	}
	for _, ref := range refs {
		if bad[ref] {
			wrong(ref)
		}
	}
	return nil
}

// recount counts an entity's changes again, from its history.
func recount(h *History) *Life { return h.countedUntil(len(h.Changes)) }

func (h *History) countedUntil(end int) *Life {
	l := &Life{}
	if h.base != nil {
		l.base, l.links, l.latest = h.base.Last, h.base.links, h.base.latest
	}
	for _, c := range h.Changes[:end] {
		if !c.Change.Mentions() {
			l.count(c)
		}
	}
	return l
}

func (l *Life) counts(other *Life) bool {
	return l.links == other.links && l.reset.Compare(other.reset) == 0 && l.latest.Equal(other.latest)
}

// agreesWith reports whether the checkpoint equals a plain fold of the changes up to it, and is not from before the last reset.
func (c checkpoint) agreesWith(h *History, reset event.Order) bool {
	end := slices.IndexFunc(h.Changes, func(o event.OrderedChange) bool { return o.Order.Compare(c.Last) > 0 })
	if end < 0 {
		end = len(h.Changes)
	}
	covered := h.countedUntil(end)
	e, err := (&History{base: h.base, Changes: h.Changes[:end]}).Fold(c.EntityRef)
	return err == nil && SameJSON(e.State, c.State) && e.Deleted == c.Deleted && e.Last.Compare(c.Last) == 0 &&
		covered.links == c.links && covered.latest.Equal(c.latest) && covered.reset.Compare(reset) == 0
}

// SameJSON reports whether two documents are equal as JSON.
func SameJSON(a, b json.RawMessage) bool {
	x, errX := fold.Canonical(a)
	y, errY := fold.Canonical(b)
	return errX == nil && errY == nil && bytes.Equal(x, y)
}
