package check

import (
	"context"
	"slices"

	"github.com/jackc/pgx/v5"

	"holdfast/event"
	"holdfast/internal/ledger"
	"holdfast/persistence/entities"
)

// foldsAtOnce is how many entities are folded in one round trip.
const foldsAtOnce = 500

const (
	checkpointsOfNone = `
SELECT provider, kind, external_id FROM (
       SELECT provider, kind, external_id FROM entity_checkpoints
        UNION
       SELECT provider, kind, external_id FROM entity_bases
        UNION
       SELECT provider, kind, external_id FROM entity_base_events) AS c
 WHERE NOT EXISTS (SELECT FROM entities AS e
                    WHERE e.provider = c.provider AND e.kind = c.kind AND e.external_id = c.external_id)
 ORDER BY 1, 2, 3`

	touchedByLedger = `
SELECT DISTINCT provider, kind, external_id FROM event_entities WHERE event_id IN (SELECT id FROM ledger_events)
 UNION
SELECT provider, kind, external_id FROM entities WHERE last_event_id IN (SELECT id FROM ledger_events)
 ORDER BY 1, 2, 3`

	// The comparison follows writeEntities. A row that should not exist has no last event here.
	wrongEntities = `
SELECT f.provider, f.kind, f.external_id
  FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::boolean[], $6::bigint[], $7::timestamptz[], $8::text[])
       AS f (provider, kind, external_id, state, deleted, version, occurred_at, last_event_id)
  LEFT JOIN entities AS e ON e.provider = f.provider AND e.kind = f.kind AND e.external_id = f.external_id
 WHERE (e.state, e.deleted, e.version, e.occurred_at, e.last_event_id)
       IS DISTINCT FROM (f.state::jsonb, f.deleted, f.version, f.occurred_at, nullif(f.last_event_id, '')::uuid)
 ORDER BY 1, 2, 3`
)

// checkFolds folds each entity that an event of the ledger has touched from all its links, with the model specified in package
// fold, and compares it with its row and its checkpoints.
func checkFolds(ctx context.Context, tx pgx.Tx) (found []ledger.Finding, err error) {
	folds := ledger.Finding{Invariant: ledger.Fold, Examples: []string{}}
	checkpoints := ledger.Finding{Invariant: ledger.Checkpoints, Examples: []string{}}
	rows, _ := tx.Query(ctx, touchedByLedger)
	refs, err := pgx.CollectRows(rows, entities.ScanRef)
	if err != nil {
		return nil, err
	}
	for chunk := range slices.Chunk(refs, foldsAtOnce) {
		of, err := entities.ReadHistories(ctx, tx, chunk)
		if err == nil {
			err = addWrongFolds(ctx, tx, chunk, of, &folds)
		}
		if err == nil {
			err = entities.FindWrongCheckpoints(ctx, tx, chunk, of, func(ref event.EntityRef) { addEntity(&checkpoints, ref) })
		}
		if err != nil {
			return nil, err
		}
	}
	err = findCheckpointsOfNone(ctx, tx, &checkpoints)
	return []ledger.Finding{folds, checkpoints}, err
}

func addWrongFolds(ctx context.Context, tx pgx.Tx, refs []event.EntityRef, of entities.Histories, wrong *ledger.Finding) error {
	folded := make([]event.Entity, len(refs))
	for i, ref := range refs {
		var err error
		if folded[i], err = of[ref].Fold(ref); err != nil {
			return err
		}
	}
	rows, _ := tx.Query(ctx, wrongEntities, entities.ColumnsOfEntities(folded)...)
	var ref event.EntityRef
	_, err := pgx.ForEachRow(rows, []any{&ref.Provider, &ref.Kind, &ref.ExternalID}, func() error {
		addEntity(wrong, ref)
		return nil
	})
	return err
}

// findCheckpointsOfNone finds checkpoints and bases whose entity is gone.
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
