package persistence

import (
	"context"

	"github.com/jackc/pgx/v5"

	"holdfast/event"
)

const basesOf = `
SELECT links, version, occurred_at, event_id::text, latest_at, state, deleted, provider, kind, external_id FROM entity_bases
 WHERE (provider, kind, external_id) IN (SELECT * FROM unnest($1::text[], $2::text[], $3::text[]))`

// history is what an entity is folded from: its base, nil where nothing is collapsed, and the changes after it in fold order.
type history struct {
	base    *checkpoint
	changes []event.OrderedChange
}

type histories map[event.EntityRef]*history

func (of histories) readBases(ctx context.Context, tx pgx.Tx, refs []event.EntityRef) error {
	providers, kinds, ids := columnsOfRefs(refs)
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

// fold is the entity by the model that is specified in package event.
func (h *history) fold(ref event.EntityRef) (event.Entity, error) {
	if h.base == nil {
		return event.Fold(ref, h.changes)
	}
	return h.base.Apply(h.changes...)
}
