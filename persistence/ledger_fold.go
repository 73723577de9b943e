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

	// Whole histories, and by another way than that of refold.
	readAllLinks = `
SELECT kind, external_id, op, change, version, occurred_at, event_id::text
  FROM event_entities
 WHERE provider = $1 AND (kind, external_id) IN (SELECT * FROM unnest($2::text[], $3::text[]))
 ORDER BY event_id, position`

	// The comparison is that of writeEntities. A row that should not be there has no last event here.
	wrongEntities = `
SELECT f.kind, f.external_id
  FROM unnest($2::text[], $3::text[], $4::text[], $5::boolean[], $6::bigint[], $7::timestamptz[], $8::text[])
       AS f (kind, external_id, state, deleted, version, occurred_at, last_event_id)
  LEFT JOIN entities AS e ON e.provider = $1 AND e.kind = f.kind AND e.external_id = f.external_id
 WHERE (e.state, e.deleted, e.version, e.occurred_at, e.last_event_id)
       IS DISTINCT FROM (f.state::jsonb, f.deleted, f.version, f.occurred_at, nullif(f.last_event_id, '')::uuid)
 ORDER BY 1, 2`
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
		for len(chunk) > 0 {
			provider := chunk[0].Provider
			n := slices.IndexFunc(chunk, func(r event.EntityRef) bool { return r.Provider != provider })
			if n < 0 {
				n = len(chunk)
			}
			if err := addWrongFolds(ctx, tx, provider, chunk[:n], &wrong); err != nil {
				return wrong, err
			}
			chunk = chunk[n:]
		}
	}
	return wrong, nil
}

// addWrongFolds checks entities of one provider.
func addWrongFolds(ctx context.Context, tx pgx.Tx, provider string, refs []event.EntityRef, wrong *ledger.Finding) error {
	folded, err := foldLinks(ctx, tx, provider, refs)
	if err != nil {
		return err
	}
	rows, _ := tx.Query(ctx, wrongEntities, append([]any{provider}, foldedColumns(folded)...)...)
	var kind, id string
	_, err = pgx.ForEachRow(rows, []any{&kind, &id}, func() error {
		wrong.Count++
		if len(wrong.Examples) < maxExamples {
			wrong.Examples = append(wrong.Examples, provider+"/"+kind+"/"+id)
		}
		return nil
	})
	return err
}

func foldLinks(ctx context.Context, tx pgx.Tx, provider string, refs []event.EntityRef) ([]event.Entity, error) {
	kinds, ids := columnsOf(refs)
	rows, _ := tx.Query(ctx, readAllLinks, provider, kinds, ids)
	links, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (event.OrderedChange, error) { return scanOrdered(row) })
	if err != nil {
		return nil, err
	}
	histories := make(map[event.EntityRef][]event.OrderedChange, len(refs))
	for _, l := range links {
		ref := event.EntityRef{Provider: provider, Kind: l.Change.Kind, ExternalID: l.Change.ExternalID}
		histories[ref] = append(histories[ref], l)
	}
	folded := make([]event.Entity, len(refs))
	for i, ref := range refs {
		if folded[i], err = event.Fold(ref, histories[ref]); err != nil {
			return nil, err
		}
	}
	return folded, nil
}
