package rebuilds

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/jackc/pgx/v5"

	"holdfast/event"
	"holdfast/event/operation"
	"holdfast/event/oversight"
	"holdfast/persistence/journal"
	"holdfast/persistence/postgres"
)

const (
	insertRebuild = `
INSERT INTO rebuilds (id, provider, kind, dry_run, rate, started_by, first_id, last_id)
VALUES ($1, $2, $3, $4, $5, $6, $7::uuid, $8::uuid) ON CONFLICT DO NOTHING`

	rebuildColumns = `
SELECT id, provider, kind, dry_run, rate, state, read, changed, unreadable, skipped, entities, problems,
       coalesce(first_id::text, ''), coalesce(cursor::text, ''), coalesce(last_id::text, ''), started_at, ended_at, started_by
  FROM rebuilds`
)

var books = journal.Books[operation.Rebuild]{
	Noun: "rebuild", Columns: rebuildColumns,
	Scan: func(row pgx.Row) (operation.Rebuild, error) { r, err := scanRebuild(row); return r.Rebuild, err },
}

// CreateRebuild makes a rebuild of the events that match its filter and were accepted by now. It stores ID, Filter, DryRun, Rate
// and StartedBy. While another one has not ended it is refused with an event.Error of class rejected and code "rebuild_runs".
func (s *Store) CreateRebuild(ctx context.Context, r operation.Rebuild, actor oversight.Actor) (operation.Rebuild, error) {
	if err := s.createRebuild(ctx, r, actor); err != nil {
		return operation.Rebuild{}, postgres.Failure("create rebuild", err)
	}
	return s.Rebuild(ctx, r.ID)
}

func (s *Store) createRebuild(ctx context.Context, r operation.Rebuild, actor oversight.Actor) error {
	var first, last *string
	b := &pgx.Batch{}
	queueEndOfEvents(b, r.Filter, "id", &first)
	queueEndOfEvents(b, r.Filter, "id DESC", &last)
	tx, err := s.db.Begin(ctx, b)
	if err != nil {
		return err
	}
	defer tx.Rollback(ctx)
	if first == nil || last == nil { // an event that was removed in between leaves none
		first, last = nil, nil
	}
	var made int64
	b = &pgx.Batch{}
	b.Queue(insertRebuild, r.ID, postgres.Clean(r.Filter.Provider), postgres.Clean(r.Filter.Kind), r.DryRun, r.Rate,
		postgres.Clean(r.StartedBy), first, last).Exec(postgres.CountInto(&made))
	if err := tx.Send(ctx, b); err != nil {
		return err
	}
	if made == 0 {
		return event.Rejectf("rebuild_runs", "another rebuild has not ended: one works at a time")
	}
	detail, err := json.Marshal(struct {
		operation.RebuildFilter
		DryRun bool `json:"dry_run"`
	}{r.Filter, r.DryRun})
	if err != nil {
		return err
	}
	b = &pgx.Batch{}
	journal.QueueAudit(b, actor.Did(oversight.AuditRebuildStart, "rebuild:"+r.ID, detail))
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

// ChangeRebuild pauses, resumes or cancels a rebuild. One that has ended is refused with an event.Error of class rejected and
// code "rebuild_ended".
func (s *Store) ChangeRebuild(
	ctx context.Context, id string, to operation.State, actor oversight.Actor,
) (operation.Rebuild, error) {
	return books.Change(ctx, s.db, id, to, actor)
}

// CancelRebuild ends a rebuild whose workflow was canceled in Temporal.
func (s *Store) CancelRebuild(ctx context.Context, id string) error {
	return books.Cancel(ctx, s.db, id)
}

// Rebuild is one rebuild, as far as it has come.
func (s *Store) Rebuild(ctx context.Context, id string) (operation.Rebuild, error) {
	return books.One(ctx, s.db, id)
}

// Rebuilds are the latest rebuilds, newest first: at most limit of them, at most event.MaxPage.
func (s *Store) Rebuilds(ctx context.Context, limit int) ([]operation.Rebuild, error) {
	return books.Latest(ctx, s.db, limit)
}

// ActiveRebuilds are the IDs of the rebuilds that need a workflow.
func (s *Store) ActiveRebuilds(ctx context.Context) ([]string, error) {
	return books.Active(ctx, s.db)
}

// rebuildRow is a rebuild as its row says.
type rebuildRow struct {
	operation.Rebuild

	first, cursor, last string // IDs of events; "" where there is none
}

func scanRebuild(row pgx.Row) (r rebuildRow, err error) {
	var problems []byte
	if err := row.Scan(&r.ID, &r.Filter.Provider, &r.Filter.Kind, &r.DryRun, &r.Rate, &r.State, &r.Read, &r.Changed, &r.Unreadable,
		&r.Skipped, &r.Entities, &problems, &r.first, &r.cursor, &r.last, &r.StartedAt, &r.EndedAt, &r.StartedBy); err != nil {
		return r, err
	}
	if err := json.Unmarshal(problems, &r.Problems); err != nil {
		return r, fmt.Errorf("decode problems: %w", err)
	}
	r.StartedAt, r.EndedAt = r.StartedAt.UTC(), postgres.UTC(r.EndedAt)
	r.From, r.Reached, r.Until = event.AcceptedAt(r.first), event.AcceptedAt(r.cursor), event.AcceptedAt(r.last)
	return r, nil
}
