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
// in package event, and compares it with its row.
func checkFolds(ctx context.Context, tx pgx.Tx) (ledger.Finding, error) {
	wrong := ledger.Finding{Invariant: ledger.Fold, Examples: []string{}}
	rows, _ := tx.Query(ctx, touchedByLedger)
	refs, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (r event.EntityRef, err error) {
		return r, row.Scan(&r.Provider, &r.Kind, &r.ExternalID)
	})
	if err != nil {
		return wrong, err
	}
	for chunk := range slices.Chunk(refs, foldsAtOnce) {
		if err := addWrongFolds(ctx, tx, chunk, &wrong); err != nil {
			return wrong, err
		}
	}
	return wrong, nil
}

func addWrongFolds(ctx context.Context, tx pgx.Tx, refs []event.EntityRef, wrong *ledger.Finding) error {
	folded, err := foldLinks(ctx, tx, refs)
	if err != nil {
		return err
	}
	rows, _ := tx.Query(ctx, wrongEntities, columnsOfEntities(folded)...)
	var provider, kind, id string
	_, err = pgx.ForEachRow(rows, []any{&provider, &kind, &id}, func() error {
		wrong.Count++
		if len(wrong.Examples) < maxExamples {
			wrong.Examples = append(wrong.Examples, provider+"/"+kind+"/"+id)
		}
		return nil
	})
	return err
}

func foldLinks(ctx context.Context, tx pgx.Tx, refs []event.EntityRef) ([]event.Entity, error) {
	histories := make(map[event.EntityRef][]event.OrderedChange, len(refs))
	providers, kinds, ids := columnsOfRefs(refs)
	rows, _ := tx.Query(ctx, readAllLinks, providers, kinds, ids)
	if err := collectHistories(rows, histories); err != nil {
		return nil, err
	}
	folded := make([]event.Entity, len(refs))
	for i, ref := range refs {
		var err error
		if folded[i], err = event.Fold(ref, histories[ref]); err != nil {
			return nil, err
		}
	}
	return folded, nil
}

func collectHistories(rows pgx.Rows, into map[event.EntityRef][]event.OrderedChange) error {
	defer rows.Close()
	for rows.Next() {
		var provider string
		c, err := scanOrdered(rows, &provider)
		if err != nil {
			return err
		}
		ref := event.EntityRef{Provider: provider, Kind: c.Change.Kind, ExternalID: c.Change.ExternalID}
		into[ref] = append(into[ref], c)
	}
	return rows.Err()
}
