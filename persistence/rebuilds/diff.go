package rebuilds

import (
	"cmp"
	"context"

	"github.com/jackc/pgx/v5"

	"holdfast/event"
	"holdfast/event/fold"
	"holdfast/event/operation"
	"holdfast/persistence/entities"
	"holdfast/persistence/fetches"
	"holdfast/persistence/postgres"
	"holdfast/persistence/records"
	"holdfast/persistence/writer"
)

const (
	differingEntities = `
SELECT provider, kind, external_id, events::text[], cardinality(events) >= ` + maxEventsOfDiff + `
  FROM rebuild_entities WHERE rebuild_id = $1 ORDER BY provider, kind, external_id LIMIT $2`

	countLinks = `
SELECT count(*) FROM (
       SELECT FROM ` + entities.AllLinks + ` WHERE provider = $1 AND kind = $2 AND external_id = $3 LIMIT $4) AS links`

	differingEvents = rebuiltEvents + ` WHERE id = ANY ($1::uuid[]) AND status = 'processed'`
)

// Diff compares the first entities that a dry run has found to differ, up to operation.MaxDiffs: their links folded as stored,
// and folded with the differing events replaced by their new parse. Only the latest rebuild has a diff, and only if it is a dry
// run: event.ErrNotFound otherwise.
func (s *Store) Diff(ctx context.Context, id string, parse event.Parser) (_ []fold.EntityDiff, err error) {
	defer postgres.Annotate(&err, "read diff of rebuild "+postgres.Clean(id))
	r, err := s.Read(ctx, id)
	if err != nil {
		return nil, err
	}
	if latest, err := s.Latest(ctx, 1); err != nil || !r.DryRun || latest[0].ID != r.ID {
		return nil, postgres.Failure("read latest rebuild", cmp.Or(err, event.ErrNotFound))
	}
	tx, err := s.DB.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly})
	if err != nil {
		return nil, err
	}
	defer func() { _ = tx.Rollback(context.WithoutCancel(ctx)) }()
	rows, _ := tx.Query(ctx, differingEntities, postgres.Clean(id), operation.MaxDiffs)
	found, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (d differing, err error) {
		return d, row.Scan(&d.Provider, &d.Kind, &d.ExternalID, &d.events, &d.TooLong)
	})
	if err != nil {
		return nil, err
	}
	diffs := make([]fold.EntityDiff, len(found))
	for i, d := range found {
		if diffs[i], err = diffEntity(ctx, tx, d, parse); err != nil {
			return nil, err
		}
	}
	return diffs, nil
}

// differing is an entity that differs, with events that change it.
type differing struct {
	fold.EntityDiff

	events []string
}

func diffEntity(ctx context.Context, tx pgx.Tx, d differing, parse event.Parser) (fold.EntityDiff, error) {
	var links int
	err := tx.QueryRow(ctx, countLinks, d.Provider, d.Kind, d.ExternalID, operation.MaxLinksOfDiff+1).Scan(&links)
	if d.Fields = []fold.FieldDiff{}; err != nil || d.TooLong || links > operation.MaxLinksOfDiff {
		d.TooLong = true
		return d.EntityDiff, err
	}
	of, err := entities.ReadHistories(ctx, tx, []event.EntityRef{d.EntityRef})
	if err != nil {
		return d.EntityDiff, err
	}
	history := of[d.EntityRef]
	again, err := readAgain(ctx, tx, d, history, parse)
	if err != nil {
		return d.EntityDiff, err
	}
	before, err := history.Fold(d.EntityRef)
	if err != nil {
		return d.EntityDiff, err
	}
	after, err := again.Fold(d.EntityRef)
	if err != nil {
		return d.EntityDiff, err
	}
	d.Fields, err = fold.Diff(before, after)
	return d.EntityDiff, err
}

// readAgain returns the history of an entity, with the new parse of its differing events.
func readAgain(
	ctx context.Context, tx pgx.Tx, d differing, history *entities.History, parse event.Parser,
) (*entities.History, error) {
	again := history.Clone()
	var read []*writer.Reparsed
	rows, _ := tx.Query(ctx, differingEvents, d.events)
	defer rows.Close()
	for rows.Next() {
		var body []byte
		var passed bool
		var fetched fetches.Scanned
		record, err := records.Scan(rows, append([]any{&body, &passed}, fetched.Targets()...)...)
		if err != nil {
			return nil, err
		}
		record.Receipt.Fetched = fetched.Fetched()
		p, err := parse(record.Receipt, body)
		if err != nil || passed {
			continue // it is unchanged
		}
		r, err := writer.NewReparsed(record.Receipt, p)
		if err != nil {
			continue
		}
		again.Drop(r.ID())
		read = append(read, r)
	}
	rows.Close()
	if err := rows.Err(); err != nil {
		return nil, err
	}
	send := func(ctx context.Context, b *pgx.Batch) error { return tx.SendBatch(ctx, b).Close() }
	if err := writer.ResolveNames(ctx, send, read); err != nil {
		return nil, err
	}
	for _, r := range read {
		for _, c := range r.ChangesOf(d.EntityRef) {
			again.Add(c)
		}
	}
	again.Sort()
	return again, nil
}
