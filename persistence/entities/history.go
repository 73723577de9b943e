package entities

import (
	"context"

	"github.com/jackc/pgx/v5"

	"holdfast/event"
)

const basesOf = `
SELECT links, version, occurred_at, event_id::text, latest_at, state, deleted, provider, kind, external_id FROM entity_bases
 WHERE (provider, kind, external_id) IN (SELECT * FROM unnest($1::text[], $2::text[], $3::text[]))`

// History is what an entity is folded from: its base, nil where nothing is collapsed, and the changes after it in fold order.
type History struct {
	base    *checkpoint
	Changes []event.OrderedChange
}

// Histories are those of entities.
type Histories map[event.EntityRef]*History

// NewHistories are those of entities, with their bases and without changes.
func NewHistories(ctx context.Context, tx pgx.Tx, refs []event.EntityRef) (Histories, error) {
	of := make(Histories, len(refs))
	for _, ref := range refs {
		of[ref] = &History{}
	}
	return of, of.readBases(ctx, tx, refs)
}

// Add puts a change behind the others, unless it shows in nothing.
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

// Fold is the entity by the model that is specified in package event.
func (h *History) Fold(ref event.EntityRef) (event.Entity, error) {
	if h.base == nil {
		return event.Fold(ref, h.Changes)
	}
	return h.base.Apply(h.Changes...)
}
