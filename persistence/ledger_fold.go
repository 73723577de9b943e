package persistence

import (
	"context"
	"slices"

	"github.com/jackc/pgx/v5"

	"holdfast/event"
	"holdfast/ledger"
)

// foldsAtOnce is how many entities are folded in one round trip.
const foldsAtOnce = 500

const (
	touchedByLedger = `
SELECT DISTINCT provider, kind, external_id FROM event_entities WHERE event_id IN (SELECT id FROM ledger_events)
 UNION
SELECT provider, kind, external_id FROM entities WHERE last_event_id IN (SELECT id FROM ledger_events)
 ORDER BY 1, 2, 3`

	// Whole histories, and by another way than that of foldLate.
	readAllLinks = `
SELECT kind, external_id, op, change, version, occurred_at, event_id::text, provider
  FROM ` + allLinks + `
 WHERE (provider, kind, external_id) IN (SELECT * FROM unnest($1::text[], $2::text[], $3::text[]))
 ORDER BY event_id, position`

	// The comparison is that of writeEntities. A row that should not be there has no last event here.
	wrongEntities = `
SELECT f.provider, f.kind, f.external_id
  FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::boolean[], $6::bigint[], $7::timestamptz[], $8::text[])
       AS f (provider, kind, external_id, state, deleted, version, occurred_at, last_event_id)
  LEFT JOIN entities AS e ON e.provider = f.provider AND e.kind = f.kind AND e.external_id = f.external_id
 WHERE (e.state, e.deleted, e.version, e.occurred_at, e.last_event_id)
       IS DISTINCT FROM (f.state::jsonb, f.deleted, f.version, f.occurred_at, nullif(f.last_event_id, '')::uuid)
 ORDER BY 1, 2, 3`
)

// checkFolds folds each entity that an event of the ledger has touched from all its links, by the model that is specified
// in package event, and compares it with its row and its checkpoints.
func checkFolds(ctx context.Context, tx pgx.Tx) (found []ledger.Finding, err error) {
	folds := ledger.Finding{Invariant: ledger.Fold, Examples: []string{}}
	checkpoints := ledger.Finding{Invariant: ledger.Checkpoints, Examples: []string{}}
	rows, _ := tx.Query(ctx, touchedByLedger)
	refs, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (r event.EntityRef, err error) {
		return r, row.Scan(&r.Provider, &r.Kind, &r.ExternalID)
	})
	if err != nil {
		return nil, err
	}
	for chunk := range slices.Chunk(refs, foldsAtOnce) {
		of, err := readHistories(ctx, tx, chunk)
		if err == nil {
			err = addWrongFolds(ctx, tx, chunk, of, &folds)
		}
		if err == nil {
			err = addWrongCheckpoints(ctx, tx, chunk, of, &checkpoints)
		}
		if err != nil {
			return nil, err
		}
	}
	err = findCheckpointsOfNone(ctx, tx, &checkpoints)
	return []ledger.Finding{folds, checkpoints}, err
}

func addWrongFolds(ctx context.Context, tx pgx.Tx, refs []event.EntityRef, of histories, wrong *ledger.Finding) error {
	folded := make([]event.Entity, len(refs))
	for i, ref := range refs {
		var err error
		if folded[i], err = of[ref].fold(ref); err != nil {
			return err
		}
	}
	rows, _ := tx.Query(ctx, wrongEntities, columnsOfEntities(folded)...)
	var ref event.EntityRef
	_, err := pgx.ForEachRow(rows, []any{&ref.Provider, &ref.Kind, &ref.ExternalID}, func() error {
		addEntity(wrong, ref)
		return nil
	})
	return err
}

func readHistories(ctx context.Context, tx pgx.Tx, refs []event.EntityRef) (histories, error) {
	of := make(histories, len(refs))
	for _, ref := range refs {
		of[ref] = &history{}
	}
	if err := of.readBases(ctx, tx, refs); err != nil {
		return nil, err
	}
	providers, kinds, ids := columnsOfRefs(refs)
	rows, _ := tx.Query(ctx, readAllLinks, providers, kinds, ids)
	defer rows.Close()
	for rows.Next() {
		var provider string
		c, err := scanOrdered(rows, &provider)
		if err != nil {
			return nil, err
		}
		ref := event.EntityRef{Provider: provider, Kind: c.Change.Kind, ExternalID: c.Change.ExternalID}
		if h := of[ref]; h.base == nil || c.Order.Compare(h.base.Last) > 0 {
			h.changes = append(h.changes, c)
		}
	}
	for _, h := range of {
		slices.SortStableFunc(h.changes, func(a, b event.OrderedChange) int { return a.Order.Compare(b.Order) })
	}
	return of, rows.Err()
}
