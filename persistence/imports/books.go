package imports

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/jackc/pgx/v5"

	"holdfast/event/operation"
	"holdfast/event/oversight"
	"holdfast/persistence/journal"
	"holdfast/persistence/postgres"
)

const (
	// insertImport goes by the last number, since counting a long file takes longer than a statement may.
	insertImport = `
INSERT INTO imports (id, name, rate, total, started_by)
SELECT $1, $2, $3, coalesce(max(seq) + 1, 0), $4 FROM import_rows WHERE import_id = $1`

	importColumns = `
SELECT id, name, rate, state, total, read, counts, problems, started_by, started_at, ended_at FROM imports`

	// maxName is in bytes.
	maxName = 500
)

var books = journal.Books[operation.Import]{Noun: "import", Columns: importColumns, Scan: scanImport}

// CreateImport makes an import of what was kept under its ID. It stores ID, Name, Rate and StartedBy.
func (s *Store) CreateImport(ctx context.Context, i operation.Import, actor oversight.Actor) (operation.Import, error) {
	name := postgres.Clip(postgres.Clean(i.Name), maxName)
	if err := s.dropAbandoned(ctx); err != nil {
		return operation.Import{}, err
	}
	did := actor.Did(oversight.AuditImportStart, "import:"+i.ID, journal.DetailOf(map[string]any{"name": name, "rate": i.Rate}))
	if _, err := journal.Change(ctx, s.db, did, insertImport, i.ID, name, i.Rate, postgres.Clean(i.StartedBy)); err != nil {
		return operation.Import{}, postgres.Failure("create import", err)
	}
	return s.Import(ctx, i.ID)
}

// ChangeImport pauses, resumes or cancels an import; what it has applied stays. One that has ended is refused with an event.Error
// of class rejected and code "import_ended".
func (s *Store) ChangeImport(
	ctx context.Context, id string, to operation.State, actor oversight.Actor,
) (operation.Import, error) {
	return books.Change(ctx, s.db, id, to, actor)
}

// CancelImport ends an import whose workflow was canceled in Temporal, and removes what is left: no further page will.
func (s *Store) CancelImport(ctx context.Context, id string) error {
	if err := books.Cancel(ctx, s.db, id); err != nil {
		return err
	}
	return s.DropImport(ctx, id)
}

// Import is one import, as far as it has come.
func (s *Store) Import(ctx context.Context, id string) (operation.Import, error) {
	return books.One(ctx, s.db, id)
}

// Imports are the latest imports, newest first: at most limit of them, at most event.MaxPage.
func (s *Store) Imports(ctx context.Context, limit int) ([]operation.Import, error) {
	return books.Latest(ctx, s.db, limit)
}

// ActiveImports are the IDs of the imports that need a workflow.
func (s *Store) ActiveImports(ctx context.Context) ([]string, error) { return books.Active(ctx, s.db) }

func scanImport(row pgx.Row) (i operation.Import, err error) {
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
