package rebuilds

import (
	"context"
	"encoding/json"

	"github.com/jackc/pgx/v5"

	"holdfast/event"
	"holdfast/event/operation"
	"holdfast/event/oversight"
	"holdfast/persistence/audit"
	"holdfast/persistence/bulk"
	"holdfast/persistence/postgres"
	"holdfast/persistence/writer"
)

const (
	insertRebuild = `
INSERT INTO rebuilds (id, provider, kind, dry_run, rate, started_by, first_id, last_id, refetch)
VALUES ($1, $2, $3, $4, $5, $6, $7::uuid, $8::uuid, $9) ON CONFLICT DO NOTHING`

	rebuildColumns = `provider, kind, dry_run, refetch, read, changed, unreadable, splits, skipped, entities, problems,
       corrected_keys, shared_keys, key_conflicts,
       coalesce(first_id::text, ''), coalesce(cursor::text, ''), coalesce(last_id::text, '')`
)

// Create stores a rebuild of the events that match its filter and were accepted by now. It uses ID, Filter, DryRun, Fetch and
// Rate. While another one has not ended it is refused with an event.Error of class rejected and code "rebuild_runs".
func (s *Store) Create(ctx context.Context, r operation.Rebuild, by oversight.Actor) (operation.Rebuild, error) {
	if err := s.create(ctx, r, by); err != nil {
		return operation.Rebuild{}, postgres.Failure("create rebuild", err)
	}
	return s.Read(ctx, r.ID)
}

func (s *Store) create(ctx context.Context, r operation.Rebuild, by oversight.Actor) error {
	var first, last *string
	b := &pgx.Batch{}
	queueEndOfEvents(b, r.Filter, "id", &first)
	queueEndOfEvents(b, r.Filter, "id DESC", &last)
	tx, err := s.DB.Begin(ctx, b)
	if err != nil {
		return err
	}
	defer tx.Rollback(ctx)
	if first == nil || last == nil { // null if the event was removed in between
		first, last = nil, nil
	}
	var made int64
	b = &pgx.Batch{}
	b.Queue(insertRebuild, r.ID, postgres.Clean(r.Filter.Provider), postgres.Clean(r.Filter.Kind), r.DryRun, r.Rate,
		postgres.Clean(by.Name), first, last, r.Fetch).Exec(postgres.CountInto(&made))
	if err := tx.Send(ctx, b); err != nil {
		return err
	}
	if made == 0 {
		return event.Rejectf("rebuild_runs", "another rebuild has not ended: one works at a time")
	}
	detail, err := json.Marshal(struct {
		operation.RebuildFilter
		DryRun bool `json:"dry_run"`
		Fetch  bool `json:"fetch,omitempty"`
	}{r.Filter, r.DryRun, r.Fetch})
	if err != nil {
		return err
	}
	b = &pgx.Batch{}
	audit.Queue(b, s.Started(r.ID, by, detail))
	return tx.Commit(ctx, b)
}

func queueEndOfEvents(b *pgx.Batch, f operation.RebuildFilter, order string, id **string) {
	list := postgres.NewList(`SELECT id::text FROM events AS e`)
	list.Equal("provider", f.Provider)
	sql, args := list.Page("e."+order, 1)
	b.Queue(sql, args...).Query(func(rows pgx.Rows) error {
		found, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if len(found) > 0 {
			*id = &found[0]
		}
		return err
	})
}

type rebuildRow struct {
	operation.Rebuild

	first, cursor, last string // event IDs; "" if there is none
}

func scanRebuild(row pgx.Row) (r rebuildRow, err error) {
	err = bulk.Scan(row, &r.Base, &r.Filter.Provider, &r.Filter.Kind, &r.DryRun, &r.Fetch, &r.Read, &r.Changed,
		&r.Unreadable, &r.Splits, &r.Skipped, &r.Entities, &r.Problems,
		&r.CorrectedKeys, &r.SharedKeys, &r.KeyConflicts, &r.first, &r.cursor, &r.last)
	r.From, r.Reached, r.Until = event.AcceptedAt(r.first), event.AcceptedAt(r.cursor), event.AcceptedAt(r.last)
	return r, err
}

// Store stores rebuilds, and runs their pages. It is safe for concurrent use.
type Store struct {
	bulk.Table[operation.Rebuild]

	writer *writer.Store
}

// New makes a Store that writes events with w.
func New(db *postgres.DB, w *writer.Store) *Store {
	return &Store{bulk.Table[operation.Rebuild]{
		DB: db, Kind: operation.KindRebuild, Columns: rebuildColumns,
		Scan: func(row pgx.Row) (operation.Rebuild, error) { r, err := scanRebuild(row); return r.Rebuild, err },
	}, w}
}
