package imports

import (
	"context"

	"github.com/jackc/pgx/v5"

	"holdfast/event/operation"
	"holdfast/event/oversight"
	"holdfast/persistence/audit"
	"holdfast/persistence/bulk"
	"holdfast/persistence/postgres"
	"holdfast/persistence/writer"
)

const (
	// insertImport uses the last number, since counting a long file takes longer than a statement may.
	insertImport = `
INSERT INTO imports (id, name, rate, total, started_by)
SELECT $1, $2, $3, max(seq) + 1, $4 FROM import_rows WHERE import_id = $1 HAVING max(seq) IS NOT NULL
    ON CONFLICT DO NOTHING`

	// maxName is in bytes.
	maxName = 500
)

// Create stores an import of the items staged under its ID. It uses ID, Name and Rate. The error is event.ErrNotFound if none are
// staged. An existing import stays unchanged.
func (s *Store) Create(ctx context.Context, i operation.Import, by oversight.Actor) (operation.Import, error) {
	name := postgres.Clip(postgres.Clean(i.Name), maxName)
	did := s.Started(i.ID, by, audit.DetailOf(map[string]any{"name": name, "rate": i.Rate}))
	if _, err := audit.Change(ctx, s.DB, did, insertImport, i.ID, name, i.Rate, postgres.Clean(by.Name)); err != nil {
		return operation.Import{}, postgres.Failure("create import", err)
	}
	return s.Read(ctx, i.ID)
}

// Cancel ends an import whose workflow was canceled in Temporal, and removes the remaining items, since no further page will.
func (s *Store) Cancel(ctx context.Context, id string) error {
	if err := s.Table.Cancel(ctx, id); err != nil {
		return err
	}
	return s.DropImport(ctx, id)
}

func scanImport(row pgx.Row) (i operation.Import, err error) {
	err = bulk.Scan(row, &i.Base, &i.Name, &i.Total, &i.Read, &i.Counts, &i.Problems)
	return i, err
}

// Store stores imports, and runs their pages. It is safe for concurrent use.
type Store struct {
	bulk.Table[operation.Import]

	writer *writer.Store
}

// New makes a Store that writes events with w.
func New(db *postgres.DB, w *writer.Store) *Store {
	return &Store{bulk.Table[operation.Import]{
		DB: db, Kind: operation.KindImport, Columns: `name, total, read, counts, problems`, Scan: scanImport,
	}, w}
}
