package entities

import (
	"context"
	"slices"

	"github.com/jackc/pgx/v5"

	"holdfast/event"
	"holdfast/event/fold"
)

const (
	// This query deliberately differs from refoldAll's.
	readAllLinks = `
SELECT kind, external_id, op, change, version, occurred_at, event_id::text, provider
  FROM (SELECT DISTINCT * FROM ` + givenRefs + `) AS given
 CROSS JOIN LATERAL (SELECT * FROM ` + AllLinks + ` WHERE ` + isGiven + `) AS l
 ORDER BY l.event_id, position`

	givenRefs = `unnest($1::text[], $2::text[], $3::text[]) AS given (of_provider, of_kind, id)`
	isGiven   = `provider = of_provider AND kind = of_kind AND external_id = id OFFSET 0`

	basesOf = `
SELECT links, version, occurred_at, event_id::text, latest_at, state, deleted, provider, kind, external_id
  FROM ` + givenRefs + ` CROSS JOIN LATERAL (SELECT * FROM entity_bases WHERE ` + isGiven + `) AS c`
)

// History is the input of an entity's fold: its base (nil if nothing is collapsed), and the changes after it in fold order.
type History struct {
	base    *checkpoint
	Changes []event.OrderedChange
}

// Histories maps entities to their histories.
type Histories map[event.EntityRef]*History

// ReadHistories reads complete histories.
func ReadHistories(ctx context.Context, tx pgx.Tx, refs []event.EntityRef) (Histories, error) {
	of := make(Histories, len(refs))
	for _, ref := range refs {
		of[ref] = &History{}
	}
	if err := of.readBases(ctx, tx, refs); err != nil {
		return nil, err
	}
	providers, kinds, ids := ColumnsOfRefs(refs)
	rows, _ := tx.Query(ctx, readAllLinks, providers, kinds, ids)
	defer rows.Close()
	for rows.Next() {
		var provider string
		c, err := ScanOrdered(rows, &provider)
		if err != nil {
			return nil, err
		}
		of[event.EntityRef{Provider: provider, Kind: c.Change.Kind, ExternalID: c.Change.ExternalID}].Add(c)
	}
	for _, h := range of {
		h.Sort()
	}
	return of, rows.Err()
}

// Clone returns a copy.
func (h *History) Clone() *History { return &History{base: h.base, Changes: slices.Clone(h.Changes)} }

// Drop removes the changes of an event.
func (h *History) Drop(eventID string) {
	h.Changes = slices.DeleteFunc(h.Changes, func(c event.OrderedChange) bool { return c.Order.EventID == eventID })
}

// Sort sorts the changes into fold order.
func (h *History) Sort() {
	slices.SortStableFunc(h.Changes, func(a, b event.OrderedChange) int { return a.Order.Compare(b.Order) })
}

// Add appends a change, unless it has no effect.
func (h *History) Add(c event.OrderedChange) {
	if h.base == nil || c.Order.Compare(h.base.Last) > 0 {
		h.Changes = append(h.Changes, c)
	}
}

func (of Histories) readBases(ctx context.Context, tx pgx.Tx, refs []event.EntityRef) error {
	providers, kinds, ids := ColumnsOfRefs(refs)
	rows, _ := tx.Query(ctx, basesOf, providers, kinds, ids)
	defer rows.Close()
	for rows.Next() {
		c := &checkpoint{}
		if err := scanCheckpoint(rows, c, &c.Provider, &c.Kind, &c.ExternalID); err != nil {
			return err
		}
		of[c.EntityRef].base = c
	}
	return rows.Err()
}

// Fold folds the entity with the reference implementation in package fold.
func (h *History) Fold(ref event.EntityRef) (event.Entity, error) {
	if h.base == nil {
		return fold.Of(ref, h.Changes)
	}
	return fold.Apply(h.base.Entity, h.Changes...)
}
