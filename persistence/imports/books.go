package imports

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/jackc/pgx/v5"

	"holdfast/event"
	"holdfast/persistence/journal"
	"holdfast/persistence/postgres"
)

const (
	// insertImport goes by the last number, since counting a long file takes longer than a statement may.
	insertImport = `
INSERT INTO imports (id, name, rate, total, started_by)
SELECT $1, $2, $3, coalesce(max(seq) + 1, 0), $4 FROM import_rows WHERE import_id = $1`

	changeImport = `
UPDATE imports SET state = $2, ended_at = CASE WHEN $2 = 'canceled' THEN clock_timestamp() END
 WHERE id = $1 AND state IN ('running', 'paused')`

	importColumns = `
SELECT id, name, rate, state, total, read, counts, problems, started_by, started_at, ended_at FROM imports`

	selectImport = importColumns + ` WHERE id = $1`

	activeImports = `SELECT id FROM imports WHERE state IN ('running', 'paused')`

	// maxName is in bytes.
	maxName = 500
)

// CreateImport makes an import of what was kept under its ID. It stores ID, Name, Rate and StartedBy.
func (s *Store) CreateImport(ctx context.Context, i event.Import, actor event.Actor) (event.Import, error) {
	name := postgres.Clip(postgres.Clean(i.Name), maxName)
	if err := s.dropAbandoned(ctx); err != nil {
		return event.Import{}, err
	}
	did := actor.Did(event.AuditImportStart, "import:"+i.ID, journal.DetailOf(map[string]any{"name": name, "rate": i.Rate}))
	if _, err := journal.Change(ctx, s.db, did, insertImport, i.ID, name, i.Rate, postgres.Clean(i.StartedBy)); err != nil {
		return event.Import{}, postgres.Failure("create import", err)
	}
	return s.Import(ctx, i.ID)
}

// ChangeImport pauses, resumes or cancels an import; what it has applied stays. One that has ended is refused with an event.Error
// of class rejected and code "import_ended".
func (s *Store) ChangeImport(
	ctx context.Context, id string, to event.OperationState, actor event.Actor,
) (event.Import, error) {
	did := actor.Did(importActions[to], "import:"+postgres.Clean(id), nil)
	changed, err := journal.Change(ctx, s.db, did, changeImport, postgres.Clean(id), string(to))
	if err != nil {
		return event.Import{}, postgres.Failure("change import "+postgres.Clean(id), err)
	}
	i, err := s.Import(ctx, id)
	if err == nil && !changed {
		err = postgres.Failure("change import "+postgres.Clean(id), event.Rejectf("import_ended", "the import is %s", i.State))
	}
	return i, err
}

var importActions = map[event.OperationState]event.AuditAction{
	event.OperationRunning: event.AuditImportResume, event.OperationPaused: event.AuditImportPause,
	event.OperationCanceled: event.AuditImportCancel,
}

// CancelImport ends an import whose workflow was canceled in Temporal, and removes what is left: no further page will.
func (s *Store) CancelImport(ctx context.Context, id string) error {
	if _, err := s.db.Exec(ctx, changeImport, postgres.Clean(id), string(event.OperationCanceled)); err != nil {
		return postgres.Failure("cancel import "+postgres.Clean(id), err)
	}
	return s.DropImport(ctx, id)
}

// Import is one import, as far as it has come.
func (s *Store) Import(ctx context.Context, id string) (event.Import, error) {
	i, err := scanImport(s.db.QueryRow(ctx, selectImport, postgres.Clean(id)))
	return i, postgres.Failure("read import "+postgres.Clean(id), err)
}

// Imports are the latest imports, newest first: at most limit of them, at most event.MaxPage.
func (s *Store) Imports(ctx context.Context, limit int) ([]event.Import, error) {
	sql, args := postgres.NewList(importColumns).Page("started_at DESC, id DESC", limit)
	all, err := pgx.CollectRows(s.db.Rows(ctx, sql, args...), func(row pgx.CollectableRow) (event.Import, error) {
		return scanImport(row)
	})
	return all, postgres.Failure("list imports", err)
}

// ActiveImports are the IDs of the imports that need a workflow.
func (s *Store) ActiveImports(ctx context.Context) ([]string, error) {
	ids, err := pgx.CollectRows(s.db.Rows(ctx, activeImports), pgx.RowTo[string])
	return ids, postgres.Failure("list imports", err)
}

func scanImport(row pgx.Row) (i event.Import, err error) {
	var counts, problems []byte
	if err := row.Scan(&i.ID, &i.Name, &i.Rate, &i.State, &i.Total, &i.Read, &counts, &problems, &i.StartedBy, &i.StartedAt,
		&i.EndedAt); err != nil {
		return i, err
	}
	if err := json.Unmarshal(counts, &i.Counts); err != nil {
		return i, fmt.Errorf("decode counts: %w", err)
	}
	if err := json.Unmarshal(problems, &i.Problems); err != nil {
		return i, fmt.Errorf("decode problems: %w", err)
	}
	i.StartedAt, i.EndedAt = i.StartedAt.UTC(), postgres.UTC(i.EndedAt)
	return i, nil
}
